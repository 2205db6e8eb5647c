// Test: K70: a wait at a latch or barrier ends as its wait record ends, at its time limit, or when its session
// ends, and its caller leaves no wait record behind.

import {
  type Command,
  LatchkeyError,
  OP,
  type PartyResult,
  type PartyState,
  READ,
  type Read,
} from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { codeOf, follow } from '../testing/stores-on-fake-cluster.js'
import { World } from '../testing/virtual-time.js'
import { Barriers } from './barriers.js'
import type { PartyPort } from './latch-and-barrier-wait.js'
import { Latches } from './latches.js'

type Answers = Partial<Record<'wait' | 'ask' | 'move' | 'leave', () => Promise<PartyResult> | PartyResult>>

const state = (of: PartyState, generation = 0, index = 0, count = 0): PartyResult => [
  of,
  generation,
  index,
  count,
]
const UNREACHABLE = new LatchkeyError('ERR_NO_LEADER')
const never = () => new Promise<PartyResult>(() => {})

/** Latches and barriers over members that answer as `answers` says. `asked` has what was asked of them. */
function scene(answers: Answers) {
  const world = new World()
  const asked: string[] = []
  const present = { session: 7 }
  let reconnected = () => {}
  let pushed: (result: PartyResult) => void = () => {}
  const answer = async (request: Command | Read): Promise<unknown> => {
    await Promise.resolve()
    const [kind] = request
    if (kind === OP.waitLatch || kind === OP.enterBarrier) {
      asked.push(`wait ${String(request.at(-1))}`)
      return (answers.wait ?? (() => state('waiting')))()
    }
    if (kind === READ.party) return said('ask')
    if (kind === OP.moveParty) return said('move')
    expect(kind).toBe(OP.leaveParties)
    return [await said('leave')]
  }
  const said = (name: 'ask' | 'move' | 'leave') => {
    asked.push(name)
    return (answers[name] ?? (() => state('waiting')))()
  }
  const port = {
    clock: world.clock(),
    closed: new AbortController().signal,
    newId: () => 'id',
    noLeader: () => undefined,
    session: () => present.session,
    command: (command: Command) => ({ result: answer(command), whenFinal: async () => {} }),
    read: answer,
    onEnded: (_: string, run: typeof pushed) => {
      pushed = run
      return () => {}
    },
    onAttached: (run: () => void) => {
      reconnected = run
      return () => {}
    },
    parties: new Set<object>(),
  }
  const all = port as unknown as PartyPort
  return {
    world,
    asked,
    present,
    parties: port.parties,
    latches: new Latches(all, new Uint8Array()),
    barriers: new Barriers(all, new Uint8Array()),
    reconnected: () => reconnected(),
    pushed: (result: PartyResult) => pushed(result),
  }
}

const messageOf = (seen: ReturnType<typeof follow>) =>
  seen.fate.is === 'failed' ? `${seen.fate.error.outcome}: ${seen.fate.error.message}` : seen.fate.is

test('K70: a wait without a limit goes on until a member pushes its end', async () => {
  const { world, asked, latches, parties, pushed } = scene({})
  const wait = follow(latches.wait('l'))
  await world.run(3_600_000)
  expect([codeOf(wait), asked, parties.size]).toEqual(['pending', ['wait 0'], 1])
  pushed(state('passed'))
  await world.run(0)
  // The members keep the end until the caller has confirmed it.
  expect([codeOf(wait), asked, parties.size]).toEqual(['ok', ['wait 0', 'leave'], 0])
})

// Without this law: the latch opens while the answer "you wait" is under way, and its caller waits for ever.
test('K70: an end or a new connection that comes before the answer to the request is not missed', async () => {
  for (const early of ['pushed', 'reconnected'] as const) {
    let answered: ((result: PartyResult) => void) | undefined
    const { world, asked, latches, pushed, reconnected } = scene({
      wait: () => new Promise((resolve) => (answered = resolve)),
      ask: () => state('passed'),
    })
    const wait = follow(latches.wait('l'))
    await world.run(10)
    if (early === 'pushed') pushed(state('passed'))
    else reconnected()
    await world.run(10)
    expect([codeOf(wait), asked]).toEqual(['pending', ['wait 0']])
    answered?.(state('waiting'))
    await world.run(10)
    expect([codeOf(wait), asked[1]]).toEqual(['ok', early === 'pushed' ? 'leave' : 'ask'])
  }
})

test('K70: a wait at a latch outlives its session: the store waits again, for the rest of its time', async () => {
  const answers: Answers = { ask: () => state('unknown') }
  const { world, asked, latches, parties, reconnected } = scene(answers)
  const wait = follow(latches.wait('l', { timeout: 10_000 }))
  await world.run(4_000)
  answers.wait = () => state('passed')
  reconnected()
  await world.run(0)
  expect(codeOf(wait)).toBe('ok')
  // The members have no wait record any more, so none is removed.
  await world.run(60_000)
  expect([asked, parties.size]).toEqual([['wait 10000', 'ask', 'wait 6000'], 0])
})

// Without this law: the process stands still until its wait is over, and then asks for a wait of 0 ms, which
// means a wait without a limit.
test('K70: a wait at a latch whose time has passed is not begun again', async () => {
  const { world, asked, latches, reconnected } = scene({
    ask: () => {
      world.now += 20_000
      return state('unknown')
    },
  })
  const wait = follow(latches.wait('l', { timeout: 10_000 }))
  await world.run(4_000)
  reconnected()
  await world.run(0)
  expect([codeOf(wait), asked]).toEqual(['ERR_TIMEOUT', ['wait 10000', 'ask']])
})

test('K70: one millisecond is time enough to ask', async () => {
  const { world, asked, latches } = scene({ wait: () => state('passed') })
  const wait = follow(latches.wait('l', { timeout: 1 }))
  await world.run(0)
  expect([codeOf(wait), asked]).toEqual(['ok', ['wait 1']])
})

test('K72: a party whose record is gone: ERR_BARRIER_BROKEN, but ERR_TIMEOUT if its time is nearly over', async () => {
  const result = async (after: number) => {
    const { world, asked, barriers, parties, reconnected } = scene({ ask: () => state('unknown') })
    const call = follow(barriers.enter('b', { parties: 3, wait: 10_000 }))
    await world.run(after)
    reconnected()
    await world.run(0)
    const code = codeOf(call)
    await world.run(60_000)
    return [code, asked, parties.size]
  }
  // Cluster time may be 2 % ahead of this process's clock.
  expect(await result(9_799)).toEqual(['ERR_BARRIER_BROKEN', ['wait 10000', 'ask'], 0])
  expect(await result(9_800)).toEqual(['ERR_TIMEOUT', ['wait 10000', 'ask'], 0])
})

test('K70: the time is over at the moment of the end: the answer to the removal decides', async () => {
  const late = async (left: Answers['leave']) => {
    const { world, asked, barriers } = scene({ leave: left ?? never })
    const call = follow(barriers.enter('b', { parties: 5, wait: 1_000 }))
    await world.run(1_000)
    expect(asked).toEqual(['wait 1000', 'leave'])
    await world.run(499)
    const before = codeOf(call)
    await world.run(1)
    return [before, call.fate.is === 'ok' ? call.fate.value : messageOf(call)]
  }
  expect(await late(() => state('passed', 4, 2))).toEqual(['ok', { generation: 4, index: 2 }])
  expect(await late(() => state('broken', 4))).toEqual([
    'ERR_BARRIER_BROKEN',
    expect.stringMatching(/^not-applied: Generation 4 of the barrier "b" was broken/),
  ])
  expect(await late(() => state('waiting', 4, 0, 2))).toEqual([
    'ERR_TIMEOUT',
    expect.stringMatching(/^not-applied: .*3 of the 5 parties of the barrier "b" were missing/),
  ])
  // The party's record is gone in the same session, and only this call can have removed it: it did not pass.
  expect(await late(() => state('unknown', 4, 0, 3))).toEqual([
    'ERR_TIMEOUT',
    expect.stringMatching(/^not-applied: .*1 of the 5 parties of the barrier "b" was missing/),
  ])
  // No member answers: the caller gets its error half a second later, and may have passed.
  expect(await late(never)).toEqual([
    'pending',
    expect.stringMatching(/^unknown: .*the barrier "b" was not complete/),
  ])
})

test('K70: a wait record is removed until a member answers, although its caller has its error', async () => {
  const answers: Answers = {
    leave: () => {
      throw UNREACHABLE
    },
  }
  const { world, asked, barriers, parties } = scene(answers)
  const call = follow(barriers.enter('b', { parties: 5, wait: 1_000 }))
  await world.run(30_000)
  expect(messageOf(call)).toMatch(/^unknown: .*the barrier "b" was not complete/)
  expect(asked.filter((one) => one === 'leave').length).toBeGreaterThan(5)
  expect(parties.size).toBe(1)
  answers.leave = () => state('waiting')
  await world.run(3_000)
  expect(parties.size).toBe(0)
})

test('K70: a request with an unknown outcome is repeated at a latch, is an error at a barrier, and leaves no record', async () => {
  const unknown = new LatchkeyError('ERR_OUTCOME_UNKNOWN', undefined, { outcome: 'unknown' })
  const refusedOnce = (after = 0) => {
    let isFirst = true
    const wait = () => {
      if (!isFirst) return state('passed')
      isFirst = false
      scenery.world.now += after
      throw unknown
    }
    const scenery = scene({ wait })
    return scenery
  }
  const latch = refusedOnce()
  const opened = follow(latch.latches.wait('l'))
  await latch.world.run(0)
  expect([codeOf(opened), latch.asked]).toEqual(['ok', ['wait 0', 'wait 0', 'leave']])
  const barrier = refusedOnce()
  const entered = follow(barrier.barriers.enter('b', { parties: 2, wait: 10_000 }))
  await barrier.world.run(0)
  expect([codeOf(entered), barrier.asked]).toEqual(['ERR_OUTCOME_UNKNOWN', ['wait 10000', 'leave']])
  const late = refusedOnce(20_000)
  const over = follow(late.latches.wait('l', { timeout: 10_000 }))
  await late.world.run(0)
  expect([codeOf(over), late.asked]).toEqual(['ERR_TIMEOUT', ['wait 10000', 'leave']])
  for (const { parties } of [latch, barrier, late]) expect(parties.size).toBe(0)
})

test('K70: a question for the state is asked again until a member answers', async () => {
  const answers: Answers = {
    ask: () => {
      throw UNREACHABLE
    },
  }
  const { world, latches, reconnected } = scene(answers)
  const wait = follow(latches.wait('l'))
  await world.run(10)
  reconnected()
  await world.run(10_000)
  expect(codeOf(wait)).toBe('pending')
  answers.ask = () => state('passed')
  await world.run(100)
  expect(codeOf(wait)).toBe('ok')
})

// Without this law: the member pushes the end of the wait to a session that no connection uses.
test('K70: a wait record of an earlier session is moved to the present one, once', async () => {
  const { world, asked, present, latches, reconnected } = scene({})
  const wait = follow(latches.wait('l'))
  await world.run(10)
  reconnected()
  await world.run(10)
  expect(asked).toEqual(['wait 0', 'ask'])
  present.session = 8
  reconnected()
  await world.run(10)
  reconnected()
  await world.run(10)
  expect(asked).toEqual(['wait 0', 'ask', 'ask', 'move', 'ask'])
  expect(codeOf(wait)).toBe('pending')
})
