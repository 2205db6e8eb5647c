// Driver: a workload with latches and barriers: callers that wait, give up and die, and latches that are
// created, counted down and removed.

import type { ClientStore } from '@latchkey/client'
import { LawBroken } from '../../laws/verdict.js'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

const BARRIER = 'barrier'
const latchName = (round: number): string => `latch/${round}`

export async function barrierWorker(world: WholeWorld, client: Client): Promise<void> {
  const { records, random } = client
  while (await client.goesOn()) {
    try {
      await random.pick([enters, enters, enters, waits, waits, counts, counts, creates, removes])(
        world,
        client,
      )
      lookAtSessions(world)
      records.done++
    } catch (error) {
      records.time.print.addText(records.fault(error).code)
    }
  }
}

/**
 * K72: the open sessions have as many waits as there are parties. A session also counts its waits for locks,
 * so the check works only if nobody waits for a lock.
 */
function lookAtSessions({ members }: WholeWorld): void {
  for (const { id, member } of members) {
    if (member === undefined || member.kv.openSessions.size === 0) continue
    const { atLatches, atBarriers } = member.kv.openSessions.partyCounts
    const waiting = atLatches + atBarriers
    const ofSessions = member.kv.openSessions.list().reduce((sum, session) => sum + session[5], 0)
    if (waiting !== ofSessions)
      throw new LawBroken(
        'parties of sessions',
        `at ${id} ${waiting} parties wait, and the open sessions have ${ofSessions}`,
      )
  }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? ''

async function enters(world: WholeWorld, client: Client): Promise<void> {
  const { random } = client
  const abort = new AbortController()
  if (random.chance(0.15)) void client.sleep(random.between(1, 1_000)).then(() => abort.abort())
  const wait = random.chance(0.3) ? undefined : random.between(1, 4_000)
  await enterOnce(world, client, wait, abort.signal)
}

async function enterOnce(
  { barriers }: WholeWorld,
  { store, life, records }: Client,
  wait: number | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const call = barriers.enters(life)
  try {
    const { parties } = barriers
    const { generation, index } = await store.barriers.enter(BARRIER, { parties, wait, signal })
    records.time.print.addText(`${generation}.${index}`)
    barriers.passed(call, generation, index)
  } catch (error) {
    if (codeOf(error) === 'ERR_BARRIER_BROKEN') {
      const told = /^Generation (\d+)/.exec((error as Error).message)?.[1]
      return barriers.broken(call, told === undefined ? undefined : Number(told))
    }
    if (wait === undefined && codeOf(error) === 'ERR_TIMEOUT')
      throw new LawBroken('waits without limit', 'a call without a wait ended because its time was over')
    const { outcome } = records.fault(error)
    barriers.left(call, outcome !== 'not-applied')
  }
}

/** One call for each name. A second call could arrive after the removal and create another latch. */
async function creates({ barriers }: WholeWorld, { store }: Client): Promise<void> {
  const name = latchName(barriers.round)
  const latch = barriers.latch(name)
  if (latch.created !== 'no') return
  latch.created = 'maybe'
  if (!(await store.latches.create(name, barriers.count)))
    throw new LawBroken('counted once', `${name} was there before it was created`)
  latch.created = 'yes'
}

async function waits({ barriers }: WholeWorld, { store, random, life }: Client): Promise<void> {
  const name = latchName(barriers.round)
  const created = barriers.latch(name).created === 'yes'
  const over = barriers.waits(life)
  try {
    await store.latches.wait(name, { timeout: random.chance(0.3) ? undefined : random.between(1, 5_000) })
    barriers.opened(name)
  } catch (error) {
    if (codeOf(error) !== 'ERR_MISMATCH') throw error
    if ((error as Error).message.includes('was removed')) barriers.removedFor(name)
    else barriers.absent(name, created)
  } finally {
    over()
  }
}

async function counts({ barriers }: WholeWorld, { store, random }: Client): Promise<void> {
  const { round } = barriers
  const name = latchName(round)
  const latch = barriers.latch(name)
  const created = latch.created === 'yes'
  const { answered } = latch
  latch.begun++
  try {
    const left = await store.latches.countDown(name)
    barriers.counted(name, left, answered)
    latch.answered++
    if (left > 0 || barriers.round !== round) return
    barriers.round++
    if (random.chance(0.5)) await remove(barriers, store, name)
  } catch (error) {
    if (codeOf(error) !== 'ERR_MISMATCH') throw error
    barriers.absent(name, created)
  }
}

/** Removes a latch that is not open yet, while some callers wait for it. */
async function removes({ barriers }: WholeWorld, { store, random }: Client): Promise<void> {
  if (!random.chance(0.2)) return
  const name = latchName(barriers.round++)
  await remove(barriers, store, name)
}

async function remove(
  barriers: WholeWorld['barriers'],
  store: ClientStore<'string'>,
  name: string,
): Promise<void> {
  barriers.latch(name).removing = true
  await store.latches.remove(name)
}

/** Called after the faults. Opens every latch and barrier with waiters until nobody waits (K70). */
export async function endBarriers(world: WholeWorld, client: Client): Promise<void> {
  const { barriers } = world
  for (const name of barriers.latchNames) {
    barriers.latch(name).begun += barriers.count
    await client.store.latches.countDown(name, barriers.count).catch((error: unknown) => {
      if (codeOf(error) !== 'ERR_MISMATCH') throw error
    })
  }
  while (barriers.pending > 0) {
    const all = Array.from({ length: barriers.parties }, () => enterOnce(world, client, 2_000))
    await Promise.all(all)
    await client.sleep(500)
  }
  lookAtSessions(world)
}
