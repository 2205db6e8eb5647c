// Rule: every reader of foreign bytes, one row each: valid messages to begin with, how a changed body becomes a whole message (its
// checksum and lengths made right again, so that the reader is reached), and the reading itself.
//
// Law: a reading ends with a value or with a refusal, and a refusal is one of the kinds that its row names. Anything else that is
// thrown would end a connection, or a process.

import { checksum, newNonce } from '../../packages/base/dist/index.js'
import * as wire from '../../packages/protocol/dist/index.js'
import { decodeMembership, encodeMembership } from '../../packages/raft/dist/core/membership.js'
import { toMessage } from '../../packages/raft/dist/net/message-decoder.js'
import { Assembly, turnParts } from '../../packages/raft/dist/net/frames.js'
import * as handshake from '../../packages/raft/dist/net/handshake-frames.js'
import { PROOF_BYTES } from '../../packages/raft/dist/net/token-proof.js'
import { messageItem } from '../../packages/raft/dist/net/message-encoder.js'
import { readRecord } from '../../packages/raft/dist/wal/record-decoder.js'
import { putRecord, recordBytes } from '../../packages/raft/dist/wal/record-encoder.js'
import { TURN } from '../../packages/raft/dist/wal/disk-format.js'
import { putMark, readMark } from '../../packages/raft/dist/wal/durable-mark-slot.js'
import { putPreamble, readPreamble } from '../../packages/raft/dist/wal/segment-preamble.js'
import { BatchReader, encodeBatch } from '../../packages/kv/dist/commands/log-entry-records.js'
import { META_KEY, SPACE, eventKey, keyOf, keyOfNumber, replyKey } from '../../packages/kv/dist/keyspaces.js'
import {
  decodeHeader,
  encodeFrame,
  encodeHeader,
  headerChecksum,
  readFrames,
} from '../../packages/kv/dist/storage/event-log-file-format.js'
import { tablesOf } from '../../packages/kv/dist/storage/leveldb-check/manifest.js'
import { withChecksum } from '../../packages/kv/dist/storage/stored-row-checksum.js'
import { unsnappied } from '../../packages/kv/dist/storage/leveldb-check/snappy.js'
import { isRowOf } from '../../packages/kv/dist/snapshot/row-format-check.js'
import { StateStream } from '../../packages/kv/dist/snapshot/received-state-check.js'
import { FrameWriter, PREAMBLE } from '../../packages/kv/dist/snapshot/stream-format.js'
import { EventGroup } from '../../packages/kv/dist/state/events-of-sixteen-revisions.js'
import { decodeEvents } from '../../packages/kv/dist/state/event-row-format.js'
import { decodeCounter, decodeHold, decodeWaiter } from '../../packages/kv/dist/state/lock-rows.js'
import { decodeMeta, emptyMeta, encodeMeta } from '../../packages/kv/dist/state/meta-row.js'
import {
  decodeMemberMessage,
  encodeMemberMessage,
} from '../../packages/latchkey/dist/member/non-raft-member-messages.js'
import { acquireBody, holdBody } from '../../packages/latchkey/dist/http/lock-body.js'
import {
  callOptions,
  readOptions,
  refuseUnknownQuery,
} from '../../packages/latchkey/dist/http/request-headers-and-query.js'
import { routeOf } from '../../packages/latchkey/dist/http/route-of-path.js'
import { COMMANDS, MESSAGES, READS, REPLIES, REQUESTS, key, value } from './samples.mjs'

const { LatchkeyError, Malformed, pack } = wire
const as =
  (...classes) =>
  (error) =>
    classes.some((one) => error instanceof one)
const never = () => false
const whole = (body) => body
const packed = (list) => list.map((one) => Buffer.from(pack(one)))

const row = (name, samples, run, { refused = never, wrap = whole } = {}) => ({
  name,
  samples,
  wrap,
  run,
  refused,
})
/** Of readers whose text is the reason for a refusal: it goes into a log, and back to whoever sent the bytes. */
const MOST_OF_A_REASON = 200
const reasoned = (decode) => (bytes) => {
  const value = decode(bytes)
  if (typeof value === 'string' && value.length > MOST_OF_A_REASON)
    throw new Error(`a reason of ${value.length} characters`)
  return value
}

/** A body behind its checksum, under that key. */
const storedRow = (name, at, bodies, decode) =>
  row(name, packed(bodies), (bytes) => decode({ key: at, value: bytes }), {
    wrap: (body) => withChecksum(at, body),
    refused: as(LatchkeyError, Malformed),
  })

const hello = { cluster: 'latchkey', clusterId: 'c', token: 'secret', least: 1, most: 1 }
const admin = [{ role: 'leader', members: [{ id: 'a', lag: 0 }] }, null, 'x', 7]

const clients = [
  row(
    'clients: requests',
    wire.encodeRequests(REQUESTS).concat(REQUESTS.flatMap((one) => wire.encodeRequests([one]))),
    reasoned(wire.decodeRequests),
  ),
  row(
    'clients: replies',
    wire.encodeReplies(REPLIES).concat(REPLIES.flatMap((one) => wire.encodeReplies([one]))),
    reasoned(wire.decodeReplies),
  ),
  row('clients: hello', [wire.encodeHello(hello)], reasoned(wire.decodeHello)),
  row(
    'clients: welcome',
    [
      wire.encodeWelcome({ ok: true, version: 1, clusterId: 'c' }),
      wire.encodeWelcome({ ok: false, answer: wire.errorAnswer('ERR_BUSY') }),
    ],
    reasoned(wire.decodeWelcome),
  ),
  row('command', COMMANDS.map(wire.encodeCommand), wire.decodeCommand),
  row('answer', packed([...admin.map(wire.okAnswer), wire.errorAnswer('ERR_FENCED')]), (bytes) => {
    const answer = wire.decodeAnswer(bytes)
    return wire.isError(answer) ? wire.errorOf(answer).message : answer
  }),
  row('reads', packed(READS.map((read) => [1, [2, 1, false, read]])), wire.decodeRequests),
]

/** Whatever decoders the greeting between members has: all of them for each frame. */
const greetings = Object.entries(handshake).filter(([name]) => name.startsWith('decode'))
const side = { least: 1, most: 1, nonce: newNonce() }
const self = {
  cluster: 'latchkey',
  clusterId: 'c',
  id: 'b',
  incarnation: 'i',
  boot: 1,
  group: 0,
  level: 1,
  tokens: ['secret'],
}
const turn = (messages) => {
  const blobs = []
  return Buffer.from(pack([0, ...messages.map((message) => messageItem(message, blobs))]))
}
const members = [
  row(
    'members: greeting',
    [
      handshake.encodeGreeting({ ...side, cluster: 'latchkey', from: 'b', to: 'a' }),
      handshake.encodeChallenge(side),
      handshake.encodeProof(Buffer.alloc(PROOF_BYTES, 7)),
      handshake.encodeHello(self),
      handshake.encodeWelcome(self, 1, 5),
      handshake.encodeRefusal({ code: 'ERR_WRONG_CLUSTER', reason: 'a reason', trusted: true }, self),
    ].map((bytes) => Buffer.from(bytes)),
    (bytes) => greetings.map(([, decode]) => reasoned((one) => decode(one, 1))(bytes)),
  ),
  row(
    'members: turn',
    MESSAGES.map((message) => turn([message])).concat(turn(MESSAGES.filter(({ type }) => type !== 'append'))),
    (bytes) => {
      const parcels = new Assembly().take(bytes)
      return typeof parcels === 'string' ? parcels : parcels.map((parcel) => toMessage(parcel, 'b', 'a'))
    },
    { wrap: (head) => Buffer.concat([Buffer.of(1), length32(head), head, Buffer.alloc(blobBytes(head))]) },
  ),
  row(
    'members: whole frame',
    MESSAGES.map((message) => {
      const blobs = []
      return Buffer.concat(turnParts([messageItem(message, blobs)], blobs))
    }),
    (bytes) => new Assembly().take(bytes),
  ),
  row(
    'members: between',
    [
      { kind: 'command', id: 1, session: 2, number: 3, done: 4, body: value },
      { kind: 'call', id: 1, call: 'members.add', args: ['d', 'ws://x'] },
      { kind: 'stateHashes', index: 7, spaces: { data: 'ab' } },
      { kind: 'compare', id: 1, index: 7, space: 'data', after: value, rows: 30 },
      { kind: 'compared', id: 1, rows: { sum: 'ab', last: value } },
    ].map(encodeMemberMessage),
    decodeMemberMessage,
  ),
  row(
    'membership',
    [
      encodeMembership({
        voters: ['a', 'b'],
        outgoing: [],
        learners: ['c'],
        learnersNext: [],
        peers: Object.fromEntries(['a', 'b', 'c'].map((id) => [id, { url: `ws://${id}`, incarnation: '1' }])),
        cluster: 'x',
      }),
    ],
    decodeMembership,
  ),
]

/** As many bytes as the head says that its items have; some, where the head says nothing that makes sense. */
function blobBytes(head) {
  try {
    const lengths = wire
      .unpack(head)
      .slice(1)
      .flatMap(([, list]) => list)
    const sum = lengths.reduce((total, length) => total + Number(length), 0)
    return sum >= 0 && sum < 100_000 ? sum : 10
  } catch {
    return 10
  }
}

function length32(bytes) {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return length
}

// ---- the disk

const entries = [{ index: 1, term: 1, time: 5, kind: 'commands', data: value }]
const logTurn = {
  voidFrom: 1,
  start: { position: { index: 0, term: 0, time: 0 }, membership: value },
  entries,
  hardState: { term: 2, vote: 'a' },
  identity: undefined,
}
const place = { group: 0, offset: 64, previous: 7, lastIndex: 0 }
const record = Buffer.alloc(recordBytes(logTurn))
putRecord(record, 0, TURN, logTurn, place)
const eventHeader = encodeHeader({ number: 1, previous: { end: 0, checksum: 0 } })
const eventRows = [
  { key, value: withChecksum(key, value) },
  { key: value, value: undefined },
]
const eventFile = Buffer.concat([eventHeader, ...encodeFrame(eventRows, headerChecksum(eventHeader)).parts])
const preamble = Buffer.alloc(48)
putPreamble(preamble, { group: 0, owner: 4, number: 1, base: 0, previous: 4 })
const mark = Buffer.alloc(64)
putMark(mark, 0, { group: 0, owner: 4, sequence: 1, first: 1, reach: 2, checksum: 3 })

const disk = [
  row('log: record', [record], (bytes) => readRecord(bytes, 0, place), {
    wrap: (body) => {
      if (body.length < 8) return body
      const bytes = Buffer.from(body)
      bytes.writeUInt32LE(bytes.length, 4)
      bytes.writeUInt32LE(checksum(bytes.subarray(4), place.previous), 0)
      return bytes
    },
  }),
  row('log: mark', [mark], readMark),
  row('log: preamble', [preamble], readPreamble),
  row(
    'log: commands of an entry',
    [
      encodeBatch(
        COMMANDS.map((command) => ({ session: 5, number: 1, done: 0, body: wire.encodeCommand(command) })),
      ),
    ],
    (bytes) => {
      const reader = new BatchReader(bytes)
      let count = 0
      while (reader.next()) count += reader.body.length
      return count
    },
  ),
  row('events: header', [encodeHeader({ number: 1, previous: { end: 0, checksum: 0 } })], decodeHeader, {
    refused: as(LatchkeyError),
  }),
  row('events: frames', [eventFile], (bytes) =>
    bytes.length < 32 ? undefined : readFrames(bytes, () => {}),
  ),
  row('leveldb: manifest', [Buffer.alloc(80, 3)], tablesOf),
  row('leveldb: snappy', [Buffer.from('0a246162636465666768696a', 'hex')], unsnappied),
  row('rows: meta', [Buffer.from(encodeMeta(emptyMeta())).subarray(4)], (bytes) => decodeMeta(bytes), {
    wrap: (body) => withChecksum(META_KEY, body),
    refused: as(LatchkeyError, Malformed),
  }),
  storedRow(
    'rows: hold',
    keyOf(SPACE.holds, key),
    [
      ['me', 1, 1, 99, null, null, 5, 0, 1],
      ['me', 1, 1, 99, 'text', key, 5, 9, 1],
    ],
    decodeHold,
  ),
  storedRow(
    'rows: waiter',
    keyOfNumber(SPACE.waiters, 3),
    [[key, 'me', 5, 99, 1_000, value, null]],
    decodeWaiter,
  ),
  storedRow('rows: counter', keyOf(SPACE.counters, Buffer.concat([Buffer.of(1), key])), [7], decodeCounter),
]

/** A row of a backup or a snapshot: of each space, its body behind a right checksum. */
const receivedRow = (space, at, bodies, use = () => {}) =>
  row(`received: ${space}`, bodies, (bytes) => isRowOf(space, { key: at, value: bytes }) && use(bytes), {
    wrap: (body) => withChecksum(at, body),
    refused: as(LatchkeyError),
  })
/** What is let in is read later without a look at its shape. */
function readGroup(row) {
  const read = EventGroup.from(16, row)
  for (let revision = 16; revision < 32; revision++)
    if (read.has(revision) && read.pieces(revision) === 0) decodeEvents(revision, read.events(revision), [])
}
const numbers = (...list) => {
  const bytes = Buffer.alloc(8 * list.length)
  list.forEach((number, i) => bytes.writeDoubleLE(number, 8 * i))
  return bytes
}
const group = Buffer.concat([Buffer.alloc(16 * 14), Buffer.from('0001006b0100000076ffffffff', 'hex')])
group.writeUInt32LE(1, 14)
group.writeUInt32LE(13, 18)
disk.push(
  receivedRow('data', keyOf(SPACE.data, key), [Buffer.alloc(30)]),
  receivedRow('sequences', keyOf(SPACE.sequences, key), [numbers(7)]),
  receivedRow('events', eventKey(16, 0), [group], readGroup),
  receivedRow('sessions', keyOfNumber(SPACE.sessions, 5), [numbers(1_000, 2_000, 1)]),
  receivedRow('replies', replyKey(5, 1), [Buffer.from('00000000009200c0', 'hex')]),
  receivedRow('holds', keyOf(SPACE.holds, key), packed([['me', 1, 1, 99, null, null, 5, 0, 1]])),
)

const stream = new FrameWriter()
const backup = Buffer.concat([PREAMBLE, stream.meta(encodeMeta(emptyMeta())), stream.end(0)])
disk.push(
  row(
    'backup',
    [backup],
    (bytes) => {
      const state = new StateStream()
      const rows = state.push(bytes)
      return [rows.length, state.finish().revision]
    },
    { refused: as(LatchkeyError, Malformed) },
  ),
)

// ---- HTTP

const call = (bytes) => {
  const query = new URLSearchParams(bytes.toString('latin1'))
  return { method: 'POST', headers: {}, query, signal: undefined, body: async () => bytes }
}
const http = [
  row(
    'http: path',
    ['/v1/kv/a%2Fb', '/v1/locks/orders%2F42:acquire', '/livez', '/v1/kv/%zz', '/constructor'].map((path) =>
      Buffer.from(path),
    ),
    (bytes) => [routeOf(bytes.toString('latin1'), 'GET'), routeOf(bytes.toString('latin1'), 'POST')],
    { refused: as(TypeError, LatchkeyError) },
  ),
  row(
    'http: query',
    ['timeout=5s&consistency=stale', 'timeout=1', '__proto__=1'].map((one) => Buffer.from(one)),
    (bytes) => {
      const one = call(bytes)
      refuseUnknownQuery(one.query)
      return [callOptions(one), readOptions(one)]
    },
    { refused: as(TypeError) },
  ),
  row(
    'http: lock bodies',
    [
      '{"id":"me","lease":"10s","wait":"5s","context":"x"}',
      '{"id":"me","fencingToken":5}',
      '{"__proto__":1}',
      '[[[[]]]]',
    ].map((one) => Buffer.from(one)),
    (bytes) =>
      Promise.allSettled([acquireBody(call(bytes)), holdBody(call(bytes), true)]).then((both) => {
        for (const { reason } of both)
          if (reason !== undefined && !as(TypeError, LatchkeyError)(reason)) throw reason
      }),
  ),
]

export const DECODERS = [...clients, ...members, ...disk, ...http]
