// Test: each row of the table in required-rights.ts: which rights a request needs, and which keys and locks
// it uses.

import {
  type Command,
  FIELD,
  IS,
  KIND,
  type LatchkeyError,
  lockKeyOf,
  OP,
  READ,
  type Read,
  STEP,
} from '@latchkey/protocol'
import { expect, test } from 'vitest'
import {
  mayTouchLock,
  refusalOfCommand,
  refusalOfRead,
  refusalOfWatch,
  rightForRead,
  rightsForCommand,
  type Touched,
  touchedByCommand,
  touchedByRead,
} from './required-rights.js'
import { tidyPrefixes } from './key-prefixes.js'
import { ANONYMOUS, type Identity, type Right } from './identity-and-rights.js'

const k = (text: string) => Buffer.from(text)
const texts = (keys: readonly Uint8Array[]) => keys.map((key) => Buffer.from(key).toString()).join(' ')
const spans = (given: Touched['spans']) =>
  given.map(([start, end]) => `${start && texts([start])}..${end && texts([end])}`).join(' ')
const drawn = ({ keys, spans: ranges, locks, lockSpans }: Touched) =>
  [texts(keys), spans(ranges), texts(locks), spans(lockSpans)].join(' | ')

const W = 'write'
const WR = 'write read'
const semaphore = lockKeyOf(KIND.semaphore, k('s'))
const guard = [k('g'), 1] as const
const v = k('v')

/** Name, request, its rights, what it touches: keys | ranges | locks | ranges of locks. */
const COMMANDS: readonly (readonly [keyof typeof OP, Command, string, string])[] = [
  ['openSession', [OP.openSession, 30_000], W, ' |  |  | '],
  ['keepAlive', [OP.keepAlive], W, ' |  |  | '],
  ['closeSession', [OP.closeSession], W, ' |  |  | '],
  ['cancelCall', [OP.cancelCall, 1], W, ' |  |  | '],
  ['endSession', [OP.endSession, 1], 'admin', ' |  |  | '],
  ['put', [OP.put, null, k('a'), v], W, 'a |  |  | '],
  ['put', [OP.put, guard, k('a'), v], W, 'a |  | g | '],
  [
    'putAll',
    [
      OP.putAll,
      guard,
      [
        [k('a'), v],
        [k('b'), v],
      ],
    ],
    W,
    'a b |  | g | ',
  ],
  ['putIfAbsent', [OP.putIfAbsent, guard, k('a'), v], WR, 'a |  | g | '],
  ['getAndPut', [OP.getAndPut, guard, k('a'), v], WR, 'a |  | g | '],
  [
    'compareAndPutAll',
    [
      OP.compareAndPutAll,
      guard,
      [
        [k('a'), v, v],
        [k('b'), null, null],
      ],
    ],
    W,
    'a b |  | g | ',
  ],
  ['touch', [OP.touch, guard, k('a'), 5], W, 'a |  | g | '],
  ['increment', [OP.increment, guard, k('a'), -3], WR, 'a |  | g | '],
  ['batch', [OP.batch, null, [[STEP.increment, k('a'), 1]]], WR, 'a |  |  | '],
  ['txn', [OP.txn, null, [], [], [[STEP.increment, k('a'), 1]]], WR, 'a |  |  | '],
  ['txn', [OP.txn, null, [[FIELD.number, IS['='], k('q'), 1]], [], []], WR, 'q |  |  | '],
  ['merge', [OP.merge, guard, k('a'), v], W, 'a |  | g | '],
  ['deleteAll', [OP.deleteAll, guard, [k('a'), k('b')]], W, 'a b |  | g | '],
  ['deleteRange', [OP.deleteRange, guard, k('a'), k('c')], W, ' | a..c | g | '],
  [
    'batch',
    [
      OP.batch,
      guard,
      [
        [STEP.put, k('a'), v],
        [STEP.merge, k('b'), v],
        [STEP.delete, k('c')],
        [STEP.deleteRange, k('d'), k('e')],
      ],
    ],
    W,
    'a b c | d..e | g | ',
  ],
  [
    'txn',
    [OP.txn, guard, [[FIELD.value, IS['='], k('q'), v]], [[STEP.put, k('a'), v]], []],
    W,
    'q a |  | g | ',
  ],
  [
    'txn',
    [OP.txn, null, [[FIELD.value, IS['!='], k('q'), v]], [], [[STEP.delete, k('b')]]],
    W,
    'q b |  |  | ',
  ],
  ['txn', [OP.txn, null, [[FIELD.version, IS['<'], k('q'), 1]], [], []], W, 'q |  |  | '],
  ['txn', [OP.txn, null, [[FIELD.value, IS['<'], k('q'), v]], [], []], WR, 'q |  |  | '],
  ['txn', [OP.txn, null, [[FIELD.value, IS['>'], k('q'), v]], [], []], WR, 'q |  |  | '],
  ['txn', [OP.txn, null, [], [[STEP.get, k('a')]], []], WR, 'a |  |  | '],
  ['txn', [OP.txn, null, [], [], [[STEP.get, k('a')]]], WR, 'a |  |  | '],
  [
    'txn',
    [OP.txn, guard, [[FIELD.lock, IS['='], k('l'), 7]], [[STEP.deleteRange, k('a'), k('b')]], []],
    W,
    ' | a..b | g l | ',
  ],
  ['nextSequence', [OP.nextSequence, guard, k('a'), 5], W, 'a |  | g | '],
  ['resetSequence', [OP.resetSequence, guard, k('a')], W, 'a |  | g | '],
  ['tryLock', [OP.tryLock, k('l'), null, false, 'me', 1_000, 0, null, null], W, ' |  | l | '],
  ['tryLock', [OP.tryLock, k('l'), k('f'), false, 'me', 1_000, 0, null, null], W, ' |  | l f | '],
  ['release', [OP.release, k('l'), 'me', 1, true], W, ' |  | l | '],
  [
    'renew',
    [
      OP.renew,
      [
        [k('l'), 'me', 1, 1_000],
        [k('m'), 'me', 2, 1_000],
      ],
    ],
    W,
    ' |  | l m | ',
  ],
  ['cancelWait', [OP.cancelWait, k('l'), 'me'], W, ' |  | l | '],
  [
    'releaseAll',
    [
      OP.releaseAll,
      [
        [k('l'), 'me'],
        [k('m'), 'me'],
      ],
    ],
    W,
    ' |  | l m | ',
  ],
  ['forceRelease', [OP.forceRelease, k('l'), 1], W, ' |  | l | '],
  ['downgrade', [OP.downgrade, k('l'), 'me', 1], W, ' |  | l | '],
  ['tryLock', [OP.tryLock, semaphore, null, false, 'me', 1_000, 0, null, null, [1, 2]], W, ' |  | s | '],
  ['proclaim', [OP.proclaim, k('l'), 'me', 1, null], W, ' |  | l | '],
  ['rotate', [OP.rotate, k('l'), 'me', 1], W, ' |  | l | '],
  ['steal', [OP.steal, lockKeyOf(KIND.webLock, k('w')), 'me', 1_000, null], W, ' |  | w | '],
  [
    'tryLockAll',
    [
      OP.tryLockAll,
      'me',
      [
        [k('l'), 0],
        [k('m'), 1],
      ],
      k('f'),
      1_000,
      null,
      null,
    ],
    W,
    ' |  | l m f | ',
  ],
  [
    'put',
    [
      OP.put,
      [
        [k('l'), 1],
        [k('m'), 2],
      ],
      k('x'),
      k('v'),
    ],
    W,
    'x |  | l m | ',
  ],
  ['resize', [OP.resize, semaphore, 3], W, ' |  | s | '],
  ['createLatch', [OP.createLatch, k('l'), 1], W, ' |  | l | '],
  ['countDown', [OP.countDown, k('l'), 1], W, ' |  | l | '],
  ['removeLatch', [OP.removeLatch, k('l')], W, ' |  | l | '],
  ['waitLatch', [OP.waitLatch, k('l'), 'me', 0], W, ' |  | l | '],
  ['enterBarrier', [OP.enterBarrier, k('l'), 'me', 3, 0], W, ' |  | l | '],
  [
    'leaveParties',
    [
      OP.leaveParties,
      [
        [0, k('l'), 'me'],
        [1, k('m'), 'me'],
      ],
    ],
    W,
    ' |  | l m | ',
  ],
  ['moveParty', [OP.moveParty, 1, k('l'), 'me'], W, ' |  | l | '],
  ['applyOnce', [OP.applyOnce, [k('o'), k('d'), 1], [OP.countDown, k('l'), 1]], W, 'o |  | l | '],
  ['applyOnce', [OP.applyOnce, [k('o'), k('d'), 1], [OP.nextSequence, guard, k('a'), 5]], W, 'a o |  | g | '],
]

const READS: readonly (readonly [keyof typeof READ, Read, Right, string])[] = [
  ['get', [READ.get, k('a')], 'read', 'a |  |  | '],
  ['getEntry', [READ.getEntry, k('a')], 'read', 'a |  |  | '],
  ['multiGet', [READ.multiGet, [k('a'), k('b')]], 'read', 'a b |  |  | '],
  ['contains', [READ.contains, k('a')], 'read', 'a |  |  | '],
  ['page', [READ.page, 0, false, k('a'), k('c'), false, 1, 'both'], 'read', ' | a..c |  | '],
  ['page', [READ.page, 7, false, null, null, false, 1, 'both'], 'read', ' | null..null |  | '],
  ['closeView', [READ.closeView, 7], 'read', ' |  |  | '],
  ['sequence', [READ.sequence, k('a')], 'read', 'a |  |  | '],
  ['lockState', [READ.lockState, k('a'), k('b')], 'read', ' |  |  | a..b'],
  ['lockQuery', [READ.lockQuery, null, false, false], 'read', ' |  |  | null..null'],
  ['lockQuery', [READ.lockQuery, k('l/'), false, false], 'read', ' |  |  | l/..l0'],
  ['lockQuery', [READ.lockQuery, k('l'), true, true], 'read', ' |  | l | '],
  ['lockQuery', [READ.lockQuery, k('l/'), true, false, [k('m'), 9]], 'read', ' |  |  | l/..l0'],
  ['lockOwner', [READ.lockOwner, k('l')], 'read', ' |  | l | '],
  ['lockHistory', [READ.lockHistory, k('l')], 'read', ' |  | l | '],
  ['ticket', [READ.ticket, k('l'), 'me'], 'write', ' |  | l | '],
  ['party', [READ.party, 0, k('l'), 'me'], 'write', ' |  | l | '],
  ['parties', [READ.parties, 0, k('')], 'read', ' |  |  | null..null'],
  ['parties', [READ.parties, 1, k('l/')], 'read', ' |  |  | l/..l0'],
  ['parties', [READ.parties, 0, k('l/'), [k('m'), 9]], 'read', ' |  |  | l/..l0'],
  ['revision', [READ.revision], 'read', ' |  |  | '],
  ['backup', [READ.backup, 0], 'admin', ' | null..null |  | null..null'],
]

test.each(COMMANDS)('%s', (_, command, rights, touched) => {
  expect(rightsForCommand(command).join(' ')).toBe(rights)
  expect(drawn(touchedByCommand(command))).toBe(touched)
})

test.each(READS)('read %s', (_, read, right, touched) => {
  expect(rightForRead(read)).toBe(right)
  expect(drawn(touchedByRead(read))).toBe(touched)
})

test('the table has a row for each operation', () => {
  expect(new Set(COMMANDS.map(([name]) => name))).toEqual(new Set(Object.keys(OP)))
  expect(new Set(READS.map(([name]) => name))).toEqual(new Set(Object.keys(READ)))
})

const someone = (
  rights: readonly Right[],
  keys?: readonly string[],
  locks?: readonly string[],
): Identity => ({
  name: 'someone',
  rights,
  keys: keys && tidyPrefixes(keys.map(k)),
  locks: locks && tidyPrefixes(locks.map(k)),
})
const FORBIDDEN = { code: 'ERR_FORBIDDEN', outcome: 'not-applied' }

test('whoever lacks one of the rights is refused, and told which', () => {
  for (const [, command, rights] of COMMANDS) {
    const needed = rights.split(' ') as Right[]
    expect(refusalOfCommand(someone(needed), command)).toBeUndefined()
    for (const one of needed) {
      const refusal = refusalOfCommand(someone(needed.filter((right) => right !== one)), command)
      expect(refusal).toMatchObject(FORBIDDEN)
      expect(refusal?.message).toContain(`"${one}"`)
    }
  }
  for (const [, read, right] of READS) {
    expect(refusalOfRead(someone([right]), read)).toBeUndefined()
    expect(
      refusalOfRead(someone((['read', 'write', 'admin'] as const).filter((one) => one !== right)), read),
    ).toMatchObject(FORBIDDEN)
  }
})

const limited = someone(['read', 'write'], ['a/', 'b/', 'a/x', 'ab'], ['l/'])
const put = (key: string): Command => [OP.put, null, k(key), v]
const page = (start: string | null, end: string | null): Read => [
  READ.page,
  0,
  false,
  start === null ? null : k(start),
  end === null ? null : k(end),
  false,
  1,
  'both',
]
const why = (refusal: LatchkeyError | undefined) => refusal?.message ?? ''

test('a key is touched below an allowed prefix only', () => {
  for (const key of ['a/', 'a/1', 'a/x', 'b/z', 'ab', 'abc'])
    expect(refusalOfCommand(limited, put(key))).toBeUndefined()
  for (const key of ['a', 'a0', 'b', 'b0', 'c', 'aa', '/', '\u{10ffff}', 'l/'])
    expect(refusalOfCommand(limited, put(key))).toMatchObject(FORBIDDEN)
  expect(why(refusalOfCommand(limited, put('c')))).toContain('"a/", "ab", "b/"')
  const mixed: Command = [
    OP.putAll,
    null,
    [
      [k('a/1'), v],
      [k('c'), v],
    ],
  ]
  expect(refusalOfCommand(limited, mixed)).toMatchObject(FORBIDDEN)
})

test('a range lies below one prefix as a whole', () => {
  for (const [start, end] of [
    ['a/', 'a0'],
    ['a/1', 'a/2'],
    ['b/', 'b/\xff'],
  ] as const) {
    expect(refusalOfRead(limited, page(start, end))).toBeUndefined()
    expect(refusalOfWatch(limited, [k(start), k(end)])).toBeUndefined()
    expect(refusalOfCommand(limited, [OP.deleteRange, null, k(start), k(end)])).toBeUndefined()
  }
  const out = [
    [null, null],
    [null, 'a/2'],
    ['a/1', null],
    ['a/', 'a00'],
    ['a/', 'b/'],
    ['a', 'a0'],
    ['a/', 'b0'],
    ['c', 'd'],
  ] as const
  for (const [start, end] of out) {
    expect(refusalOfRead(limited, page(start, end))).toMatchObject(FORBIDDEN)
    expect(refusalOfWatch(limited, [start && k(start), end && k(end)])).toMatchObject(FORBIDDEN)
  }
  // Above the highest key there is no end.
  const highest = { ...limited, keys: [Buffer.from([0xff])] }
  expect(refusalOfWatch(highest, [Buffer.from([0xff, 1]), null])).toBeUndefined()
  expect(refusalOfWatch(highest, [Buffer.from([0xfe]), null])).toMatchObject(FORBIDDEN)
})

test('locks have prefixes of their own, and a guard, a condition and a fencing key name locks', () => {
  const lock = (key: string, fencing: string | null = null): Command => [
    OP.tryLock,
    k(key),
    fencing === null ? null : k(fencing),
    false,
    'me',
    1_000,
    0,
    null,
    null,
  ]
  expect(refusalOfCommand(limited, lock('l/1'))).toBeUndefined()
  expect(refusalOfCommand(limited, lock('l/1', 'l/f'))).toBeUndefined()
  for (const command of [
    lock('a/1'),
    lock('l/1', 'm'),
    [OP.put, [k('m'), 1], k('a/1'), v],
    [OP.txn, null, [[FIELD.lock, IS['='], k('m'), 1]], [], []],
    [
      OP.renew,
      [
        [k('l/1'), 'me', 1, 1_000],
        [k('m'), 'me', 1, 1_000],
      ],
    ],
  ] as Command[]) {
    expect(refusalOfCommand(limited, command)).toMatchObject(FORBIDDEN)
    expect(why(refusalOfCommand(limited, command))).toContain('locks below "l/"')
  }
  expect(refusalOfRead(limited, [READ.lockQuery, k('l/'), false, false])).toBeUndefined()
  expect(refusalOfRead(limited, [READ.lockQuery, k('l'), false, false])).toMatchObject(FORBIDDEN)
  expect(refusalOfRead(limited, [READ.lockQuery, null, false, false])).toMatchObject(FORBIDDEN)
  expect(mayTouchLock(limited, k('l/1'))).toBe(true)
  expect(mayTouchLock(limited, k('m'))).toBe(false)
})

test('an empty list allows none, no list allows all', () => {
  const locksOnly = someone(['read', 'write'], [])
  expect(why(refusalOfCommand(locksOnly, put('a')))).toContain('no keys at all')
  expect(refusalOfCommand(locksOnly, [OP.release, k('any'), 'me', 1, true])).toBeUndefined()
  expect(refusalOfCommand(locksOnly, [OP.openSession, 1_000])).toBeUndefined()
  for (const [, command] of COMMANDS) expect(refusalOfCommand(ANONYMOUS, command)).toBeUndefined()
})
