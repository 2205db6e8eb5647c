// Driver: rounds of kill -9 and restart under write load: the leader, a follower, or all at once, drawn by
// chance.

import { type Random, seededRandom } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { Cluster } from './cluster.js'
import { Ledger, type LedgerReport } from './ledger.js'
import { Standstill } from './standstill.js'
import { pause, until } from './until.js'

/** After each restart at least as many writes are acknowledged before the next kill. */
const WRITES_OF_A_ROUND = 20

export interface CrashRoundsOptions {
  readonly rounds: number
  readonly writers?: number
  readonly seed?: number
  readonly flags?: readonly string[]
  readonly tell?: (line: string) => void
}

export interface CrashRoundsReport extends LedgerReport {
  readonly kills: { readonly leader: number; readonly follower: number; readonly all: number }
  readonly errors: Readonly<Record<string, number>>
}

export async function crashRounds(options: CrashRoundsOptions): Promise<CrashRoundsReport> {
  const { rounds, writers = 4, seed = 1, tell = () => {} } = options
  const random = seededRandom(seed)
  const cluster = await Cluster.start({ flags: options.flags ?? [] })
  const kills = { leader: 0, follower: 0, all: 0 }
  const standstill = new Standstill()
  let going = true
  try {
    const store = await connect(cluster.urls)
    const ledgers = Array.from({ length: writers }, (_, i) => new Ledger(store, `w${i}`, standstill))
    const work = ledgers.map(async (ledger) => {
      while (going) await ledger.write()
    })
    const acknowledged = () => ledgers.reduce((sum, one) => sum + one.acknowledged, 0)
    for (let round = 0; round < rounds; round++) {
      const victim = await killSome(cluster, random)
      kills[victim]++
      await cluster.ready()
      const enough = acknowledged() + WRITES_OF_A_ROUND
      await until('writes after the restart', async () => acknowledged() >= enough || undefined)
      if ((round + 1) % 10 === 0) tell(`round ${round + 1}: ${acknowledged()} acknowledged`)
      await pause(random.between(50, 300))
    }
    going = false
    await Promise.all(work)
    const reports = await Promise.all(ledgers.map((ledger) => ledger.audit(store)))
    await store.close()
    return { ...sum(reports), kills, errors: tally(ledgers) }
  } finally {
    going = false
    standstill.close()
    await cluster.destroy()
  }
}

async function killSome(cluster: Cluster, random: Random): Promise<'leader' | 'follower' | 'all'> {
  const leader = await cluster.leader()
  const followers = cluster.members.filter((member) => member !== leader)
  const kind = random.pick(['leader', 'leader', 'follower', 'all'] as const)
  const victims = kind === 'all' ? cluster.members : kind === 'leader' ? [leader] : [random.pick(followers)]
  await Promise.all(victims.map((member) => member.kill()))
  await pause(random.between(0, 400))
  for (const member of victims) member.start()
  return kind
}

function sum(reports: readonly LedgerReport[]): LedgerReport {
  return {
    acknowledged: reports.reduce((total, one) => total + one.acknowledged, 0),
    unknown: reports.reduce((total, one) => total + one.unknown, 0),
    refused: reports.reduce((total, one) => total + one.refused, 0),
    faults: reports.flatMap((one) => one.faults),
  }
}

function tally(ledgers: readonly Ledger[]): Record<string, number> {
  const errors: Record<string, number> = {}
  for (const ledger of ledgers)
    for (const [code, count] of ledger.errors) errors[code] = (errors[code] ?? 0) + count
  return errors
}
