// Rule: one valid message of each kind, for the fuzzer to begin with. A kind that is missing here is not reached: add it with its message.

import {
  OP,
  READ,
  STEP,
  FIELD,
  IS,
  encodeAnswer,
  errorAnswer,
  okAnswer,
  encodeCommand,
} from '../../packages/protocol/dist/index.js'

export const key = Buffer.from('orders/42')
export const value = Buffer.from('a value')

export const COMMANDS = [
  [OP.openSession, 30_000],
  [OP.keepAlive],
  [OP.closeSession],
  [OP.cancelCall, 1],
  [OP.put, null, key, value],
  [OP.put, [key, 3], key, value],
  [OP.put, null, key, value, 30_000],
  [OP.put, null, key, value, 0],
  [OP.touch, null, key, 30_000],
  [
    OP.putAll,
    null,
    [
      [key, value],
      [value, value, 500],
    ],
  ],
  [OP.putIfAbsent, null, key, value],
  [OP.getAndPut, null, key, value],
  [
    OP.compareAndPutAll,
    null,
    [
      [key, null, value],
      [value, value, null],
    ],
  ],
  [OP.merge, null, key, value],
  [OP.increment, null, key, -7],
  [OP.deleteAll, null, [key, value]],
  [OP.deleteRange, null, Buffer.from('a'), Buffer.from('b')],
  [
    OP.batch,
    null,
    [
      [STEP.put, key, value],
      [STEP.put, key, value, 1_000],
      [STEP.merge, key, value],
      [STEP.delete, key],
      [STEP.increment, key, 5],
      [STEP.deleteRange, Buffer.from('a'), Buffer.from('z')],
    ],
  ],
  [
    OP.txn,
    null,
    [
      [FIELD.value, IS['='], key, value],
      [FIELD.version, IS['>'], key, 1],
      [FIELD.lock, IS['='], key, 5],
      [FIELD.number, IS['<'], key, -5],
    ],
    [
      [STEP.get, key],
      [STEP.put, key, value],
    ],
    [[STEP.delete, key]],
    [key, value, 5_000],
  ],
  [OP.applyOnce, [key, value, 5_000], [OP.countDown, key, 1]],
  [OP.nextSequence, null, key, 10],
  [OP.resetSequence, null, key],
  [OP.tryLock, key, null, false, 'me', 10_000, 0, null, null],
  [OP.tryLock, key, value, true, 'you', 10_000, 5, 'context', 500],
  [OP.tryLock, key, null, false, 'us', 10_000, 0, null, 500, [1, 0], ['flow', ['around']]],
  [
    OP.tryLockAll,
    'all',
    [
      [key, 0],
      [value, 1],
    ],
    null,
    10_000,
    null,
    500,
    [null, ['around']],
  ],
  [OP.release, key, 'me', 1, true],
  [OP.renew, [[key, 'me', 1, 10_000]]],
  [OP.cancelWait, key, 'me'],
  [OP.releaseAll, [[key, 'me']]],
  [OP.forceRelease, key, 1],
]

export const READS = [
  [READ.get, key],
  [READ.getEntry, key],
  [READ.multiGet, [key, value]],
  [READ.contains, key],
  [READ.page, 0, true, null, key, false, 10, 'both'],
  [READ.closeView, 3],
  [READ.sequence, key],
  [READ.lockQuery, key, false, false],
  [READ.lockQuery, key, true, false, [key, 10]],
  [READ.lockOwner, key],
  [READ.lockHistory, key],
  [READ.ticket, key, 'me'],
  [READ.parties, 1, key],
  [READ.parties, 0, key, [key, 10]],
  [READ.revision],
  [READ.lockState, key, null],
  [READ.backup, 0],
]

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

export const REQUESTS = [
  { kind: 'command', id: 1, session: 7, number: 3, done: 2, body: encodeCommand([OP.put, null, key, value]) },
  ...READS.map((read, at) => ({ kind: 'read', id: 10 + at, stale: at % 2 === 0, read })),
  { kind: 'watch', id: 3, start: key, end: null, from: 0 },
  { kind: 'watch', id: 5, start: key, end: null, from: 9, of: 2 },
  { kind: 'watchMore', id: 3, events: 100 },
  { kind: 'watchEnd', id: 3 },
  { kind: 'attach', session: 7 },
  { kind: 'admin', id: 4, call: 'members.add', args: ['d', 'ws://d'] },
  { kind: 'admin', id: 5, call: 'status', args: [] },
  {
    kind: 'command',
    id: 6,
    session: 7,
    number: 4,
    done: 2,
    body: encodeCommand([OP.put, null, key, value]),
    trace: TRACE,
  },
  { kind: 'read', id: 7, stale: false, read: [READ.get, key], trace: TRACE },
  { kind: 'admin', id: 8, call: 'status', args: [], trace: TRACE },
]

export const REPLIES = [
  { kind: 'answer', id: 1, time: 123, never: false, answer: encodeAnswer(okAnswer(5)) },
  { kind: 'answer', id: 2, time: 0, never: true, answer: errorAnswer('ERR_BUSY') },
  {
    kind: 'answer',
    id: 3,
    time: 0,
    never: false,
    answer: okAnswer({ role: 'leader', members: [{ id: 'a' }] }),
  },
  {
    kind: 'events',
    ids: [3, 4],
    upTo: 9,
    events: [
      [9, 0, key, value, null],
      [9, 1, key, null, value],
    ],
  },
  { kind: 'watchOver', id: 3, answer: errorAnswer('ERR_COMPACTED') },
  { kind: 'granted', key, owner: ['me', 99, 10, 1, 1, null, 0, 5] },
  {
    kind: 'leader',
    id: 'a',
    url: 'ws://a',
    term: 3,
    role: 'leader',
    self: 'a',
    clusterId: 'c',
    members: [
      ['a', 'ws://a', 'voter'],
      ['b', 'ws://b'],
    ],
  },
]

const envelope = { group: 0, from: 'b', to: 'a', term: 3 }
const position = { index: 9, term: 2, time: 5 }
const membership = { voters: ['a', 'b'], outgoing: [], learners: [], learnersNext: [], peers: {} }
export const MESSAGES = [
  { ...envelope, type: 'preVote', lastIndex: 3, lastTerm: 2 },
  { ...envelope, type: 'preVoteReply', granted: true, campaignTerm: 4 },
  { ...envelope, type: 'vote', lastIndex: 3, lastTerm: 2, transfer: false },
  { ...envelope, type: 'voteReply', granted: true },
  {
    ...envelope,
    type: 'append',
    prevIndex: 1,
    prevTerm: 1,
    commit: 1,
    round: 2,
    entries: [{ index: 2, term: 2, time: 5, kind: 'commands', data: Buffer.from('0123456789') }],
  },
  { ...envelope, type: 'appendReply', ok: true, match: 5, round: 2 },
  { ...envelope, type: 'appendReply', ok: false, rejected: 5, hintIndex: 3, hintTerm: 1, round: 2 },
  { ...envelope, type: 'heartbeat', commit: 5, round: 2 },
  { ...envelope, type: 'heartbeatReply', round: 2, match: 5 },
  { ...envelope, type: 'snapshot', position, membership, offset: 0, chunk: value, done: true },
  { ...envelope, type: 'snapshotReply', position, offset: 0, installed: false },
  { ...envelope, type: 'timeoutNow' },
  { ...envelope, type: 'readIndex', context: 5 },
  { ...envelope, type: 'readIndexReply', context: 5, index: 9, time: 5 },
]
