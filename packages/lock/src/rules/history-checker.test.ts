// Test: the checker of histories accepts histories of the real rules, and finds the mistake in a wrong
// history for each law.

import type { OwnerCode, OwnerResult } from '@latchkey/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Recorder } from '../testing/lock-history-recorder.js'
import { type Law, type LockEvent, judgeHistory } from './history-checker.js'
import { CODE } from './hold-checks-and-answers.js'

function owner(
  id: string,
  code: OwnerCode,
  token: number,
  deadline: number,
  acquires = 1,
  now = 0,
): OwnerResult {
  return [id, deadline, 0, token, acquires, null, CODE[code], now]
}
let calls = 0
type Numbers = { token?: number; until?: number; acquires?: number; queued?: boolean; call?: string }

const event = {
  ask: (
    time: number,
    id: string,
    code: OwnerCode,
    { token = 0, until = time + 100, acquires = 1, queued = false, call = `c${++calls}` }: Numbers,
    whom = id,
  ): LockEvent => ({
    kind: 'ask',
    call,
    id,
    key: 'k',
    time,
    at: time,
    owner: owner(whom, code, token, until, acquires),
    queued,
    lease: 100,
  }),
  release: (time: number, id: string, code: OwnerCode, token: number, acquires = 0): LockEvent => ({
    kind: 'release',
    call: `c${++calls}`,
    id,
    token,
    key: 'k',
    time,
    at: time,
    owner: owner(id, code, token, 0, acquires),
  }),
  renew: (time: number, id: string, code: OwnerCode, token: number, until: number): LockEvent => ({
    kind: 'renew',
    call: `c${++calls}`,
    id,
    token,
    key: 'k',
    time,
    at: time,
    owner: owner(id, code, token, until),
  }),
  grant: (time: number, id: string, token: number): LockEvent => ({
    kind: 'grant',
    key: 'k',
    time,
    at: time,
    owner: owner(id, 'FIRST_TIME', token, time + 100),
  }),
  left: (time: number, id: string): LockEvent => ({ kind: 'left', key: 'k', time, at: time, id }),
  promise: (at: number, token: number): LockEvent => ({ kind: 'promise', key: 'k', token, at }),
}
const { ask, release, renew, grant, left, promise } = event
const first = (token = 1) => ask(0, 'a', 'FIRST_TIME', { token })

const SAMPLES: readonly (readonly [Law, string, readonly LockEvent[]])[] = [
  ['one holder', 'taken while another holds it', [first(), ask(50, 'b', 'NEW_ACQUIRE', { token: 2 })]],
  ['one holder', 'taken at the very deadline', [first(), ask(100, 'b', 'NEW_ACQUIRE', { token: 2 })]],
  ['one holder', 'renewed after it was over', [first(), renew(101, 'a', 'KEEP_LEASE', 1, 201)]],
  [
    'one holder',
    'renewed after another took it',
    [first(), ask(101, 'b', 'NEW_ACQUIRE', { token: 2 }), renew(110, 'a', 'KEEP_LEASE', 1, 210)],
  ],
  [
    'one holder',
    'reentered under another token',
    [first(), ask(10, 'a', 'REENTRANT', { token: 2, acquires: 2 })],
  ],
  ['one holder', 'a refusal that names a stranger', [first(), ask(10, 'b', 'HELD', {}, 'c')]],
  [
    'growing tokens',
    'the same token twice',
    [first(5), release(10, 'a', 'RELEASED', 5), ask(20, 'b', 'FIRST_TIME', { token: 5 })],
  ],
  ['growing tokens', 'a lower token', [first(5), ask(101, 'b', 'NEW_ACQUIRE', { token: 4 })]],
  [
    'exactly once',
    'a call applied twice',
    [
      ask(0, 'a', 'FIRST_TIME', { token: 1, call: 'same' }),
      ask(1, 'a', 'REENTRANT', { token: 1, acquires: 2, call: 'same' }),
    ],
  ],
  [
    'exactly once',
    'an answer that no command gave',
    [first(), { kind: 'answer', call: 'never', owner: owner('b', 'FIRST_TIME', 2, 9) }],
  ],
  ['exactly once', 'a hold that vanished: release says NOT_HELD', [first(), release(10, 'a', 'NOT_HELD', 0)]],
  ['exactly once', 'a hold that vanished: renewal fails', [first(), renew(10, 'a', 'KEEP_LEASE_FAIL', 0, 0)]],
  [
    'exactly once',
    'released twice',
    [first(), release(10, 'a', 'RELEASED', 1), release(11, 'a', 'RELEASED', 1)],
  ],
  ['exactly once', 'released with another token', [first(), release(10, 'a', 'RELEASED', 2)]],
  ['exactly once', "released by another with the holder's token", [first(), release(10, 'b', 'RELEASED', 1)]],
  [
    'exactly once',
    'refused because of a hold that is over',
    [first(), release(10, 'a', 'RELEASED', 1), ask(20, 'b', 'HELD', {}, 'a')],
  ],
  ['exactly once', 'its owner refused as a stranger', [first(), release(10, 'a', 'NOT_OWNER', 1)]],
  ['exactly once', 'its owner refused its renewal as a stranger', [first(), renew(10, 'a', 'HELD', 1, 100)]],
  ['exactly once', 'a deadline that moved backwards', [first(), renew(10, 'a', 'KEEP_LEASE', 1, 90)]],
  ['counts', 'one reentry counted twice', [first(), ask(1, 'a', 'REENTRANT', { token: 1, acquires: 3 })]],
  [
    'counts',
    'one decrement that took two',
    [
      first(),
      ask(1, 'a', 'REENTRANT', { token: 1, acquires: 2 }),
      ask(1, 'a', 'REENTRANT', { token: 1, acquires: 3 }),
      release(2, 'a', 'DECREMENTED', 1, 1),
    ],
  ],
  [
    'counts',
    'a new ownership with old acquires',
    [first(), ask(101, 'a', 'NEW_ACQUIRE', { token: 2, acquires: 2 })],
  ],
  [
    'first come first served',
    'the second waiter is granted the lock before the first',
    [
      first(),
      ask(1, 'b', 'HELD', { queued: true }, 'a'),
      ask(2, 'c', 'HELD', { queued: true }, 'a'),
      release(3, 'a', 'RELEASED', 1),
      grant(3, 'c', 2),
    ],
  ],
  [
    'first come first served',
    'K23: a release after which no waiter is granted the lock',
    [first(), ask(1, 'b', 'HELD', { queued: true }, 'a'), release(2, 'a', 'RELEASED', 1), left(50, 'b')],
  ],
  [
    'first come first served',
    'a waiter that has left is granted the lock',
    [
      first(),
      ask(1, 'b', 'HELD', { queued: true }, 'a'),
      left(2, 'b'),
      release(3, 'a', 'RELEASED', 1),
      grant(3, 'b', 2),
    ],
  ],
  [
    'first come first served',
    'a caller that did not wait is granted the lock',
    [
      first(),
      ask(1, 'b', 'HELD', { queued: true }, 'a'),
      release(3, 'a', 'RELEASED', 1),
      ask(4, 'c', 'FIRST_TIME', { token: 2 }),
    ],
  ],
  ['promises', 'of an unknown token', [first(), promise(10, 9)]],
  ['promises', 'before it began', [ask(5, 'a', 'FIRST_TIME', { token: 1 }), promise(4, 1)]],
  ['promises', 'after it was released', [first(), release(10, 'a', 'RELEASED', 1), promise(11, 1)]],
  [
    'promises',
    'after the hold expired and another acquirer got the lock',
    [first(), ask(101, 'b', 'NEW_ACQUIRE', { token: 2 }), promise(102, 1)],
  ],
  [
    'promises',
    'after an entry later than its deadline',
    [first(), ask(101, 'x', 'KEEP_LEASE_FAIL', {}), promise(102, 1)],
  ],
]

describe('failing samples', () => {
  test.each(SAMPLES)('%s: %s', (law, _, events) => {
    expect(judgeHistory(events).map((violation) => violation.law)).toContain(law)
  })
  test('each law has a failing sample', () => {
    expect(new Set(SAMPLES.map(([law]) => law)).size).toBe(6)
  })
})

describe('a promise in the last moment before the next owner, and one recorded after the release that followed it', () => {
  test('a promise in the last moment before the next owner, and one recorded after the release that followed it', () => {
    const events = [
      first(),
      promise(100, 1),
      ask(101, 'b', 'NEW_ACQUIRE', { token: 2 }),
      promise(101, 2),
      release(110, 'b', 'RELEASED', 2),
      promise(109, 2),
    ]
    expect(judgeHistory(events)).toEqual([])
  })

  const who = fc.constantFrom('a', 'b', 'c')
  const deed = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        who,
        lease: fc.integer({ min: 50, max: 300 }),
        wait: fc.option(fc.nat(300)),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), who, all: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('renew' as const), who }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('force' as const, 'cancel' as const), who }) },
  )
  const steps = fc.array(fc.record({ after: fc.nat(120), deed }), { maxLength: 60 })

  test('the checker reports nothing for random commands to the real rules', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const run = new Recorder()
        run.openSession(1, 1e9)
        let now = 0
        for (const step of sequence) {
          now += step.after
          perform(run, now, step.deed)
        }
        expect(judgeHistory(run.events)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  type Deed = typeof deed extends fc.Arbitrary<infer D> ? D : never
  function perform(run: Recorder, now: number, deed: Deed): void {
    const token = [...run.holds.values()][0]?.token ?? 1
    if (deed.do === 'ask') run.ask(now, deed.who, { lease: deed.lease, wait: deed.wait })
    else if (deed.do === 'release') run.release(now, deed.who, 0, deed.all)
    else if (deed.do === 'renew') run.renew(now, deed.who, 0, 200)
    else if (deed.do === 'force') run.force(now, token)
    else run.cancel(now, deed.who)
  }
})
