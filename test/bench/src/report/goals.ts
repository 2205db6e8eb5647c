// Rule: what the project set itself to reach, judged from what a run found. Ratios are against peers of the
// same run.

import type { Fact, LoadRow, Report, Verdict } from './report.js'

type Found = Pick<Report, 'rows' | 'facts'>

export function judge(found: Found): Verdict[] {
  return [
    ...pairGoals(found),
    ...everydayGoals(found),
    ratio(found, 'put of 256 B, 256 callers', ['put 256 B', 256], 'etcd', 10),
    ratio(found, 'linearizable get, 256 callers', ['get', 256], 'etcd', 25),
    handOver(found, 8),
    handOver(found, 64),
    orderly(found),
    ...failoverGoals(found),
    ...heldGoals(found),
    ...keyGoals(found),
    growsWithCallers(found),
    ...startGoals(found),
    proposalGoal(found),
    soakGoal(found),
  ].filter((verdict) => verdict !== undefined)
}

const OURS = 'Latchkey'

const rowOf = ({ rows }: Found, load: string, callers: number, system = OURS): LoadRow | undefined =>
  rows.find((row) => row.system === system && row.load === load && row.callers === callers)

const factOf = ({ facts }: Found, id: string): Fact | undefined => facts.find((fact) => fact.id === id)

const times = (factor: number) => `${factor.toFixed(1)} x`

function ratio(
  found: Found,
  goal: string,
  [load, callers]: readonly [string, number],
  peer: string,
  wanted: number,
): Verdict {
  const ours = rowOf(found, load, callers)
  const theirs = rowOf(found, load, callers, peer)
  const want = `${wanted} x ${peer}`
  if (ours === undefined || theirs === undefined || theirs.perSecond === 0) return untold(goal, want)
  const factor = ours.perSecond / theirs.perSecond
  const told = `${times(factor)} (${ours.perSecond}/s, ${theirs.perSecond}/s)`
  return { goal, wanted: want, found: told, met: factor >= wanted && ours.errors === 0 }
}

const untold = (goal: string, wanted: string): Verdict => ({
  goal,
  wanted,
  found: 'not measured',
  met: undefined,
})

function pairGoals(found: Found): Verdict[] {
  const alone = 'lock pair, 1 caller, p50'
  return [
    ratio(found, 'lock pairs, 256 callers', ['lock pair', 256], 'etcd', 14),
    ratio(found, 'lock pairs, 256 callers', ['lock pair', 256], 'Redlock', 2),
    shorter(found, alone, 'lock pair', ['etcd', 0.5]),
    shorter(found, alone, 'lock pair', ['ZooKeeper', 0.5]),
  ]
}

/** Hand-overs are one commit after the other, as are the frames of the scene `floor`. */
function handOver(found: Found, waiters: number): Verdict {
  const goal = `contended hand-over, ${waiters} waiters`
  const wanted = '0.8 x three bare processes'
  const ours = rowOf(found, 'hand-over', waiters)
  const bare = rowOf(found, 'a frame on two of three disks', 1, 'three processes, no logic')
  if (ours === undefined || bare === undefined) return untold(goal, wanted)
  const part = ours.perSecond / bare.perSecond
  const told = `${part.toFixed(2)} x (${ours.perSecond}/s, ${bare.perSecond}/s)`
  return { goal, wanted, found: told, met: part >= 0.8 }
}

function orderly(found: Found): Verdict {
  const goal = 'contended hand-over, strict order'
  const rows = [8, 64].map((waiters) => rowOf(found, 'hand-over', waiters)).filter((row) => row !== undefined)
  if (rows.length === 0) return untold(goal, 'nobody overtaken')
  const overtaken = rows.reduce((sum, row) => sum + row.errors, 0)
  return {
    goal,
    wanted: 'nobody overtaken',
    found: `${overtaken} out of order or failed`,
    met: overtaken === 0,
  }
}

const KILLED = '100 ms, slowest 150 ms'

function failoverGoals(found: Found): Verdict[] {
  const killed = rowOf(found, 'leader killed: gap', 1)
  const stopped = rowOf(found, 'leader stopped: longest gap', 8)
  return [
    killed
      ? {
          goal: 'kill -9 of the leader to the next success, median',
          wanted: KILLED,
          found: `${killed.p50} ms, slowest ${killed.p99} ms of ${killed.samples}, ${killed.errors} errors`,
          met: killed.errors === 0 && killed.p50 <= 100 && killed.p99 <= 150,
        }
      : untold('kill -9 of the leader to the next success, median', KILLED),
    stopped
      ? {
          goal: 'graceful stop of the leader',
          wanted: 'no failed call, no gap over 100 ms',
          found: `longest gap ${stopped.p99} ms, ${stopped.errors} failed calls`,
          met: stopped.errors === 0 && stopped.p99 <= 100,
        }
      : untold('graceful stop of the leader', 'no failed call, no gap over 100 ms'),
  ]
}

/** The p50 of a load with one caller beside that of a peer. */
function shorter(found: Found, goal: string, load: string, [peer, most]: readonly [string, number]): Verdict {
  const wanted = `at most ${most} x ${peer}'s`
  const ours = rowOf(found, load, 1)
  const theirs = rowOf(found, load, 1, peer)
  if (ours === undefined || theirs === undefined) return untold(goal, wanted)
  const told = `${(ours.p50 / theirs.p50).toFixed(2)} x (${ours.p50} ms, ${theirs.p50} ms)`
  return { goal, wanted, found: told, met: ours.samples > 0 && ours.p50 <= theirs.p50 * most }
}

function everydayGoals(found: Found): Verdict[] {
  const goal = 'lock pair ten times a second, fresh members, p50'
  const load = 'lock pair, 10 a second, fresh members'
  return [shorter(found, goal, load, ['etcd', 0.5]), shorter(found, goal, load, ['Redlock', 1.5])]
}

/** Each in ms; those of the command are for a machine where Node alone takes up to 130 ms. */
const START_GOALS = [
  ['latchkey --version', 'version', 200],
  ['latchkey put', 'put', 250],
  ['a new member alone is ready', 'one', 400],
  ['three new members have a leader and are ready', 'three', 1000],
] as const

function startGoals(found: Found): Verdict[] {
  return START_GOALS.map(([goal, id, most]) => {
    const fact = factOf(found, `start.${id}`)
    const wanted = `under ${most} ms`
    if (fact === undefined) return untold(goal, wanted)
    return { goal, wanted, found: `${fact.value} ms`, met: fact.value < most }
  })
}

const HELD = 10_000
const MILLION = 1_000_000

function heldGoals(found: Found): Verdict[] {
  const goal = '10,000 held locks renewed by one watchdog'
  const cpu = factOf(found, 'held.cpu')
  const still = factOf(found, 'held.still')
  if (cpu === undefined || still === undefined || (factOf(found, 'held.locks')?.value ?? 0) < HELD)
    return [untold(goal, 'under 5 % of a core a member')]
  const told = `${(cpu.value * 100).toFixed(1)} %, ${still.value} still held`
  return [
    {
      goal,
      wanted: 'under 5 % of a core a member',
      found: told,
      met: cpu.value < 0.05 && still.value >= HELD,
    },
  ]
}

function keyGoals(found: Found): Verdict[] {
  const under = (goal: string, id: string, most: number): Verdict => {
    const fact = factOf(found, id)
    const wanted = `under ${most} ${fact?.unit ?? (most < 1000 ? 'MiB' : 'ms')}`
    if (fact === undefined) return untold(goal, wanted)
    return { goal, wanted, found: `${fact.value} ${fact.unit}`, met: fact.value < most }
  }
  return [
    under('memory of a member with 1,000,000 keys', `keys.rss.${MILLION}`, 250),
    under('restart with 1,000,000 keys', `keys.restart.${MILLION}`, 1500),
    flat(found, 'put 100 B', 1),
    flat(found, 'get', 1),
    flat(found, 'put 100 B', 16),
    flat(found, 'get', 16),
  ]
}

/** Medians differ from run to run by this much on a machine that does other things as well. */
const FLAT = 1.5

function flat(found: Found, load: string, callers: number): Verdict {
  const goal = `${load}, ${callers === 1 ? 'one caller' : `${callers} callers`}: flat latency from 1,000 to 1,000,000 keys`
  const small = rowOf(found, `${load}, 1,000 keys`, callers)
  const big = rowOf(found, `${load}, 1,000,000 keys`, callers)
  if (small === undefined || big === undefined) return untold(goal, `p50 under ${FLAT} x`)
  const told = `${times(big.p50 / small.p50)} (${small.p50} ms, ${big.p50} ms)`
  return { goal, wanted: `p50 under ${FLAT} x`, found: told, met: big.p50 < small.p50 * FLAT }
}

function growsWithCallers(found: Found): Verdict {
  const goal = 'lock pairs a second grow with callers'
  const rows = found.rows.filter((row) => row.system === OURS && row.load === 'lock pair')
  if (rows.length < 2) return untold(goal, 'never less')
  const rates = rows.toSorted((a, b) => a.callers - b.callers).map((row) => row.perSecond)
  // Once the cores are full a tenth up or down is noise.
  const met = rates.every((rate, i) => i === 0 || rate >= (rates[i - 1] as number) * 0.9)
  return { goal, wanted: 'never less', found: rates.map((rate) => `${rate}/s`).join(', '), met }
}

function proposalGoal({ rows }: Found): Verdict | undefined {
  const goal = 'proposals without a state machine'
  const row = rows.find(({ load }) => load === 'proposals of 16 B')
  if (row === undefined) return untold(goal, '100000/s')
  const met = row.perSecond >= 100_000 && row.errors === 0
  return { goal, wanted: '100000/s', found: `${row.perSecond}/s, ${row.errors} errors`, met }
}

function soakGoal(found: Found): Verdict | undefined {
  const [early, late] = ['soak.early', 'soak.late'].map((id) => factOf(found, id))
  if (early === undefined || late === undefined) return undefined
  return {
    goal: "the leader's memory under ten minutes of load",
    wanted: 'no more late than early (10 %)',
    found: `${early.value} MiB early, ${late.value} MiB late`,
    met: late.value <= early.value * 1.1,
  }
}
