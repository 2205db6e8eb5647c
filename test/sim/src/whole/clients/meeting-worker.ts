// Driver: a workload on latches and barriers: parties that wait, give up and die, latches that are created,
// counted down and removed.

import type { ClientStore } from '@latchkey/client'
import { LawBroken } from '../../laws/broken.js'
import type { WholeWorld } from '../world.js'
import type { Client } from './crew.js'

const BARRIER = 'barrier'
const latchName = (round: number): string => `latch/${round}`

export async function meetingWorker(world: WholeWorld, client: Client): Promise<void> {
  const { desk, random } = client
  while (await client.goesOn()) {
    try {
      await random.pick([enters, enters, enters, waits, waits, counts, counts, creates, removes])(
        world,
        client,
      )
      lookAtSessions(world)
      desk.done++
    } catch (error) {
      desk.ground.print.addText(desk.fault(error).code)
    }
  }
}

/**
 * M-session: counted at each member. A session counts its lock waiters too, so this holds only where nobody
 * waits for a lock.
 */
function lookAtSessions({ stations }: WholeWorld): void {
  for (const { id, member } of stations) {
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
  { meetings }: WholeWorld,
  { store, life, desk }: Client,
  wait: number | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const call = meetings.enters(life)
  try {
    const { parties } = meetings
    const { generation, index } = await store.barriers.enter(BARRIER, { parties, wait, signal })
    desk.ground.print.addText(`${generation}.${index}`)
    meetings.passed(call, generation, index)
  } catch (error) {
    if (codeOf(error) === 'ERR_BARRIER_BROKEN') {
      const told = /^Generation (\d+)/.exec((error as Error).message)?.[1]
      return meetings.broken(call, told === undefined ? undefined : Number(told))
    }
    if (wait === undefined && codeOf(error) === 'ERR_TIMEOUT')
      throw new LawBroken('waits without limit', 'a call without a wait ended because its time was over')
    const { outcome } = desk.fault(error)
    meetings.left(call, outcome !== 'not-applied')
  }
}

/** One call for each name: a second one might come behind the removal, and begin another latch. */
async function creates({ meetings }: WholeWorld, { store }: Client): Promise<void> {
  const name = latchName(meetings.round)
  const latch = meetings.latch(name)
  if (latch.created !== 'no') return
  latch.created = 'maybe'
  if (!(await store.latches.create(name, meetings.count)))
    throw new LawBroken('counted once', `${name} was there before it was created`)
  latch.created = 'yes'
}

async function waits({ meetings }: WholeWorld, { store, random, life }: Client): Promise<void> {
  const name = latchName(meetings.round)
  const created = meetings.latch(name).created === 'yes'
  const over = meetings.waits(life)
  try {
    await store.latches.wait(name, { timeout: random.chance(0.3) ? undefined : random.between(1, 5_000) })
    meetings.opened(name)
  } catch (error) {
    if (codeOf(error) !== 'ERR_MISMATCH') throw error
    if ((error as Error).message.includes('was removed')) meetings.removedFor(name)
    else meetings.absent(name, created)
  } finally {
    over()
  }
}

async function counts({ meetings }: WholeWorld, { store, random }: Client): Promise<void> {
  const { round } = meetings
  const name = latchName(round)
  const latch = meetings.latch(name)
  const created = latch.created === 'yes'
  const { answered } = latch
  latch.begun++
  try {
    const left = await store.latches.countDown(name)
    meetings.counted(name, left, answered)
    latch.answered++
    if (left > 0 || meetings.round !== round) return
    meetings.round++
    if (random.chance(0.5)) await remove(meetings, store, name)
  } catch (error) {
    if (codeOf(error) !== 'ERR_MISMATCH') throw error
    meetings.absent(name, created)
  }
}

/** A latch that is not open yet, while some wait for it. */
async function removes({ meetings }: WholeWorld, { store, random }: Client): Promise<void> {
  if (!random.chance(0.2)) return
  const name = latchName(meetings.round++)
  await remove(meetings, store, name)
}

async function remove(
  meetings: WholeWorld['meetings'],
  store: ClientStore<'string'>,
  name: string,
): Promise<void> {
  meetings.latch(name).removing = true
  await store.latches.remove(name)
}

/** On a calm world: opens what somebody may wait for, until nobody waits any more (M-calm). */
export async function endMeetings(world: WholeWorld, client: Client): Promise<void> {
  const { meetings } = world
  for (const name of meetings.latchNames) {
    meetings.latch(name).begun += meetings.count
    await client.store.latches.countDown(name, meetings.count).catch((error: unknown) => {
      if (codeOf(error) !== 'ERR_MISMATCH') throw error
    })
  }
  while (meetings.pending > 0) {
    const all = Array.from({ length: meetings.parties }, () => enterOnce(world, client, 2_000))
    await Promise.all(all)
    await client.sleep(500)
  }
  lookAtSessions(world)
}
