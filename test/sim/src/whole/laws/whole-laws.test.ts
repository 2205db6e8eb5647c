// Test: each law of the whole profile gives the known result for each history.

import { utf8 } from '@latchkey/base'
import { encodeCommand, okAnswer, OP, OWNER_CODES } from '@latchkey/protocol'
import { MirrorHistory, StoreStates } from './mirrors.js'
import { describe, expect, test } from 'vitest'
import type { HostProcess } from '@latchkey/raft/memory'
import { judgeAppends } from './appends.js'
import { AppliedOnce, type Counter, type OnceCall } from './applied-once.js'
import { KeyHistory } from './key-history.js'
import type { KeyCall } from './key-call.js'
import { Sequences, WatchHistory } from './sequences-and-watches.js'
import { NewLeaderInTime } from './new-leader-in-time.js'
import { RenewedHolds } from './renewed-holds.js'

const READER = { died: () => false, stranded: () => false, untold: () => false }
const NEVER = Number.POSITIVE_INFINITY

const op = (kind: KeyCall['kind'], call: number, end: number, more: Partial<KeyCall> = {}): KeyCall => ({
  client: 'p',
  kind,
  word: '',
  expect: undefined,
  call,
  end,
  result: undefined,
  revision: 0,
  refused: false,
  ...more,
})

const verdict = (ops: readonly KeyCall[]): (() => void) => {
  const history = new KeyHistory()
  for (const one of ops) history.add('k', one)
  return () => history.judge(new Map())
}

describe('keys', () => {
  test('an unknown put that a delete tells of', () => {
    const ops = [op('put', 1, NEVER, { word: 'x' }), op('delete', 2, 3, { result: 1 }), op('get', 4, 5)]
    expect(verdict(ops)).not.toThrow()
  })

  test.each([
    ['R2: a stale read', [op('put', 1, 2, { word: 'x' }), op('get', 3, 4)]],
    [
      'a compare that should have failed',
      [op('put', 1, 2, { word: 'x' }), op('cas', 3, 4, { word: 'y', expect: 'z', result: true })],
    ],
    [
      'writes against their revisions',
      [
        op('put', 1, 2, { word: 'x', revision: 7 }),
        op('put', 3, 4, { word: 'y', revision: 6 }),
        op('delete', 5, 6, { result: 1 }),
      ],
    ],
    [
      'C1: a refused write that was seen',
      [
        op('put', 1, NEVER, { word: 'x', refused: true }),
        op('delete', 2, 3, { result: 1 }),
        op('get', 4, 5, { result: 'x' }),
      ],
    ],
  ])('not: %s', (_, ops) => {
    expect(verdict(ops)).toThrow()
  })
})

describe('appends', () => {
  const words = [
    op('merge', 1, 2, { word: 'a' }),
    op('merge', 3, 4, { word: 'b' }),
    op('merge', 3, NEVER, { word: 'c' }),
  ]

  test.each(['a,b', 'a,b,c', 'a,c,b'])('%s may be', (end) => {
    expect(() => judgeAppends('m', words, end)).not.toThrow()
  })

  test.each(['a', 'b,a', 'a,b,b', undefined])('%s may not', (end) => {
    expect(() => judgeAppends('m', words, end)).toThrow()
  })

  test.each([
    ['C2: shows less than what was done before it', op('get', 5, 6, { result: 'a' })],
    ['shows what is not there', op('get', 5, 6, { result: 'a,b,z' })],
    ['shows what was asked for behind it', op('get', 1, 2, { result: 'a,b' })],
  ])('a read that %s', (_, read) => {
    expect(() => judgeAppends('m', [...words, read], 'a,b')).toThrow()
  })

  test('a refused word that is there', () => {
    expect(() =>
      judgeAppends('m', [...words, op('merge', 5, NEVER, { word: 'd', refused: true })], 'a,b,d'),
    ).toThrow()
  })
})

describe('sequences and watches', () => {
  test.each([
    ['C2: a number twice', [0, 5, 1, 2], [4, 8, 3, 4]],
    ['a number before one asked for earlier', [5, 9, 1, 2], [0, 5, 3, 4]],
  ] as const)('not: %s', (_, first, second) => {
    const sequences = new Sequences()
    sequences.given('s', first[0], first[1], first[2], first[3])
    sequences.given('s', second[0], second[1], second[2], second[3])
    expect(() => sequences.judge()).toThrow()
  })

  const seen = (revision: number, value: string, previous?: string) => ({
    revision,
    type: 'put',
    key: 'k',
    value,
    previous,
  })

  test('C11: a watch without gap or repeat', () => {
    const watch = new WatchHistory('w', READER)
    watch.saw(seen(1, 'a'))
    watch.saw(seen(3, 'b', 'a'))
    expect([watch.endsWith('k', 'b'), watch.endsWith('k', 'a')]).toEqual([true, false])
  })

  test('M12: a watch in a removed member is over once that was told, and no other', () => {
    const among = new WatchHistory('among', READER)
    const removed = new WatchHistory('removed', { ...READER, stranded: () => true })
    expect([among.isOver, removed.isOver]).toEqual([false, false])
    among.refused()
    removed.refused()
    expect([among.isOver, removed.isOver]).toEqual([false, true])
    removed.saw(seen(1, 'a'))
    expect(removed.isOver).toBe(false)
  })

  test.each([
    ['gap', seen(3, 'c', 'b')],
    ['repeat', seen(1, 'a')],
    ['way back', seen(0, 'z', 'a')],
  ])('C11: a %s is noticed', (_, next) => {
    const watch = new WatchHistory('w', READER)
    watch.saw(seen(1, 'a'))
    expect(() => watch.saw(next)).toThrow()
  })
})

describe('liveness', () => {
  const life = (running = true) => ({ dead: false, running, host: { name: 'p0' } }) as unknown as HostProcess

  test('C13: a client that asks and hears nothing for too long, though somebody leads', () => {
    const reach = new NewLeaderInTime(300, true)
    const asker = life()
    reach.changed(1_000_000)
    reach.asked(asker, 1_000_000)
    // After the change: three election timeouts and three seconds, in microseconds.
    reach.look(4_900_000, () => true)
    expect(() => reach.look(4_900_001, () => true)).toThrow('heard nothing')
    reach.heard(asker)
    expect(() => reach.look(9_000_000, () => true)).not.toThrow()
  })

  test('C13: nothing is demanded while nobody leads, of one that stands still, or right behind a change', () => {
    const reach = new NewLeaderInTime(300, true)
    reach.asked(life(false), 0)
    expect(() => reach.look(9_000_000, () => true)).not.toThrow()
    reach.asked(life(), 0)
    expect(() => reach.look(9_000_000, () => false)).not.toThrow()
    expect(() => reach.look(9_000_001, () => true)).not.toThrow()
    expect(() => reach.look(13_000_000, () => true)).toThrow('heard nothing')
  })

  test('K42: a hold that is lost although an answer that came proves it', () => {
    let now = 0
    const at = () => ({ hr: now, up: now, wall: now })
    const holder = { dead: false, running: true, clock: { instant: at } } as unknown as HostProcess
    const key = utf8('k')
    const told = (answeredAt: number, code: 'kept' | 'refused', lostAt: number) => {
      now = 0
      let held = true
      const renewed = new RenewedHolds(0.005)
      renewed.began('p0', holder, 'k', 7, () => held)
      const body = encodeCommand([OP.renew, [[key, 'me', 7, 1_000]]])
      renewed.asked(holder, { kind: 'command', id: 1, session: 1, number: 1, done: 1, body })
      now = answeredAt
      const refused = ['', 0, 0, 0, 0, null, OWNER_CODES.indexOf('KEEP_LEASE_FAIL'), 100]
      const answer = okAnswer([100, [code === 'kept' ? 1_000 : refused]])
      renewed.answered(holder, { kind: 'answer', id: 1, time: 100, never: false, answer })
      now = lostAt
      held = false
      return () => renewed.look()
    }
    expect(told(600, 'kept', 700)).toThrow('lost k/7')
    expect(told(600, 'kept', 995)).not.toThrow()
    expect(told(600, 'refused', 700)).not.toThrow()
    // It came too late to prove anything.
    expect(told(1_100, 'kept', 1_101)).not.toThrow()
  })
})

describe('C62: mirrors', () => {
  const story = () => new MirrorHistory('m', 'a/', READER)
  const rows = (value: string) => new Map([['a/1', value]])

  test('states of the store, forwards, and what is there in the end', () => {
    const states = new StoreStates()
    states.applied(3, new Map([...rows('x'), ['b/1', 'other']]))
    const mirror = story()
    mirror.shows(2, rows('w'))
    mirror.shows(3, rows('x'))
    mirror.judge(states)
    expect([mirror.endsWith(new Map([['a/1', 'x']])), mirror.endsWith(new Map([['a/1', 'w']]))]).toEqual([
      true,
      false,
    ])
  })

  test('not: an older state, two states of one revision, a state that the store never had', () => {
    const mirror = story()
    mirror.shows(3, rows('x'))
    expect(() => mirror.shows(2, rows('w'))).toThrow('revision 2 after 3')
    expect(() => mirror.shows(3, rows('y'))).toThrow('two states')
    const states = new StoreStates()
    states.applied(3, rows('z'))
    expect(() => mirror.judge(states)).toThrow('the store had')
  })
})

describe('C73 C76: calls with idempotency keys', () => {
  type Row = readonly [key: string, state: OnceCall['state'], before?: number, by?: number]

  /** The calls follow each other. */
  const verdict = (counter: Counter, final: number, rows: readonly Row[]) => () => {
    const once = new AppliedOnce()
    const sequences = new Sequences()
    rows.forEach(([key, state, before = 0, by = 2], i) => {
      const call = once.begins(key, { counter, by }, 2 * i)
      Object.assign(call, { state, before }, state === 'answered' ? { end: 2 * i + 1 } : {})
    })
    once.finals.set(counter, final)
    once.judge(sequences)
    sequences.judge()
  }

  test('each key is counted once, also if an answer was lost or another request was refused', () => {
    const rows: readonly Row[] = [
      ['a', 'unknown'],
      ['a', 'answered', 0],
      ['b', 'answered', 2],
      ['a', 'answered', 0],
      ['b', 'mismatch', 0, 3],
      ['c', 'refused'],
    ]
    expect(verdict('sequence', 4, rows)).not.toThrow()
  })

  test.each<readonly [string, string, number, readonly Row[]]>([
    [
      'a request is applied again',
      'the sequence is 4',
      4,
      [
        ['a', 'unknown'],
        ['a', 'answered', 0],
      ],
    ],
    [
      'another answer',
      'a got 0 and 2',
      2,
      [
        ['a', 'answered', 0],
        ['a', 'answered', 2],
      ],
    ],
    [
      'two requests of a key',
      'different requests',
      2,
      [
        ['a', 'answered', 0],
        ['a', 'answered', 0, 3],
      ],
    ],
    [
      'an applied request is refused',
      'no other request',
      2,
      [
        ['a', 'answered', 0],
        ['a', 'mismatch'],
      ],
    ],
    ['a request of its own key is refused', 'no other request', 0, [['a', 'mismatch']]],
    [
      'two keys get a number',
      'given out twice',
      4,
      [
        ['a', 'answered', 0],
        ['b', 'answered', 1],
      ],
    ],
    [
      'a later call gets an earlier number',
      'was given out before',
      4,
      [
        ['a', 'answered', 2],
        ['b', 'answered', 0],
      ],
    ],
  ])('not: %s', (_, message, final, rows) => {
    expect(verdict('sequence', final, rows)).toThrow(message)
  })

  test('the answer to a repeated rotation has the present token, and no earlier token', () => {
    const rows = (again: number): readonly Row[] => [
      ['a', 'answered', 0, 1],
      ['b', 'answered', 1, 1],
      ['a', 'answered', again, 1],
    ]
    expect(verdict('token', 2, rows(1))).not.toThrow()
    expect(verdict('token', 2, rows(0))).toThrow('one before had 1')
  })

  test('only requests that may have been applied are repeated, and each of them once', () => {
    const once = new AppliedOnce()
    const request = { counter: 'latch', by: 1 } as const
    const other = { counter: 'latch', by: 2 } as const
    for (let i = 0; i < 2; i++) once.begins('a', request, i)
    once.begins('a', other, 2)
    once.begins('b', request, 3).state = 'refused'
    expect(once.possible).toEqual([
      ['a', request],
      ['a', other],
    ])
  })
})
