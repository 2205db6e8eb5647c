// Test: a caller that waits for a lock over HTTP: what it asks after a push, after a new session, and at its end.

import type { LockPort } from '@latchkey/lock'
import { type Command, OP, type OwnerResult, READ, type Read } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { LockWait } from './wait-for-lock.js'

const KEY = Buffer.from('lock')
const OTHER: OwnerResult = ['other', 9_000, 9_000, 4, 1, null, 0, 1]
const mine = (code: number): OwnerResult => ['me', 9_000, 9_000, 5, 1, null, code, 1]
/** The turns of the event loop that the steps of a wait may need. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** A caller that waits 10 s. `answers` are the answers of the cluster, by the kind of the request. */
function waiting(answers: Record<'take' | 'ticket' | 'renew', () => unknown>, isShared = false) {
  const clock = new ManualClock()
  const asked: string[] = []
  const hints = { granted: () => {}, attached: (_isNewSession: boolean) => {} }
  const answer = async (request: Command | Read): Promise<unknown> => {
    const [kind] = request
    const name =
      kind === OP.tryLock ? 'take' : kind === OP.renew ? 'renew' : kind === READ.ticket ? 'ticket' : 'leave'
    asked.push(name === 'take' ? `take ${String(request[8])}` : name)
    return name === 'leave' ? true : answers[name]()
  }
  const off = () => () => {}
  const port = {
    clock,
    command: (command: Command) => ({ result: answer(command) }),
    read: answer,
    onGranted: (_key: Uint8Array, _id: string, run: () => void) => ((hints.granted = run), off()),
    onAttached: (run: (isNewSession: boolean) => void) => ((hints.attached = run), off()),
  }
  const stop = new AbortController()
  const ask = {
    id: 'me',
    lease: 9_000,
    wait: 10_000,
    context: null,
    share: undefined,
    flow: undefined,
    session: undefined,
  }
  const wait = new LockWait(port as unknown as LockPort, KEY, ask, { signal: stop.signal }, () => isShared)
  const ended = { how: undefined as unknown }
  wait.acquire().then(
    (acquired) => (ended.how = acquired === undefined ? 'no lock' : acquired.owner[0]),
    (error: unknown) => (ended.how = error),
  )
  return { clock, asked, hints, stop, ended }
}

const QUEUED = [OTHER, true]
const queued = () => ({
  take: () => QUEUED,
  ticket: () => ['queued', null] as unknown,
  renew: () => [1, [9_000]],
})

test('a push is a hint: the caller reads its place, and holds the lock after a renewal', async () => {
  const answers = queued()
  const { asked, hints, ended } = waiting(answers)
  await settled()
  hints.granted()
  await settled()
  expect([asked, ended.how]).toEqual([['take 10000', 'ticket'], undefined])
  answers.ticket = () => ['granted', mine(0)]
  hints.granted()
  await settled()
  expect([asked, ended.how]).toEqual([['take 10000', 'ticket', 'ticket', 'renew'], 'me'])
})

// Without this law: each push costs an entry of the log, for as long as the caller waits.
test('after a new session the caller keeps its place with one request, and then only reads again', async () => {
  const { clock, asked, hints, ended } = waiting(queued())
  await settled()
  clock.advance(4_000)
  hints.attached(true)
  await settled()
  expect(asked).toEqual(['take 10000', 'ticket', 'take 6000'])
  for (let i = 0; i < 3; i++) {
    hints.granted()
    await settled()
  }
  hints.attached(false)
  await settled()
  expect(asked).toEqual(['take 10000', 'ticket', 'take 6000', 'ticket', 'ticket', 'ticket', 'ticket'])
  expect(ended.how).toBeUndefined()
})

test('a caller whose place has ended joins the queue again for the rest of its time', async () => {
  const answers = queued()
  const { clock, asked, hints, ended } = waiting(answers)
  await settled()
  clock.advance(7_000)
  answers.ticket = () => ['unknown', null]
  answers.take = () => [mine(0), false]
  hints.granted()
  await settled()
  expect([asked, ended.how]).toEqual([['take 10000', 'ticket', 'take 3000'], 'me'])
})

test('a caller whose time is over, or that stops waiting, leaves the queue, unless another call has its place', async () => {
  const late = waiting(queued())
  await settled()
  late.clock.advance(10_000)
  await settled()
  expect([late.asked, late.ended.how, late.clock.armed]).toEqual([['take 10000', 'leave'], 'no lock', 0])
  const gone = waiting(queued())
  await settled()
  const reason = new Error('gone')
  gone.stop.abort(reason)
  await settled()
  expect([gone.asked, gone.ended.how, gone.clock.armed]).toEqual([['take 10000', 'leave'], reason, 0])
  const shared = waiting(queued(), true)
  await settled()
  shared.clock.advance(10_000)
  await settled()
  expect([shared.asked, shared.ended.how]).toEqual([['take 10000'], 'no lock'])
})
