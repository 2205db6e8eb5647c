// Rule: the byte format of the meta row. This row names the last applied entry of the log, and has the
// counters and checksums of the whole state. Every batch writes the meta row (A2).

import { type Membership, type LogPosition } from '@latchkey/raft/core'
import { LatchkeyError, pack, show } from '@latchkey/protocol'
import { META_KEY } from '../keyspaces.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import { META_SHAPE, unpackRow } from './unpack-stored-row.js'
import { RowSetHash, type SumParts } from './row-set-hash.js'

/** The version of the formats of all rows. A member refuses to open a store with another version. */
const FORMAT = 1

export interface Meta {
  position: LogPosition
  membership: Membership
  /** How many commands have changed keys. */
  revision: number
  /** The arrival number of the next waiter, shared hold, or wait at a latch or barrier. */
  arrival: number
  /**
   * Every new fencing token is higher than this number. Restoring a backup raises the number (docs/locks.md,
   * section 4).
   */
  tokenBase: number
  /**
   * The kept events of keys. `floor` is the oldest revision whose events are kept. `count` is the number of
   * events.
   */
  events: { floor: number; count: number; bytes: number }
  /**
   * True if the next entry must remove more expired keys, because the last entry has reached its limit of
   * removed keys (rules/key-expiry.ts).
   */
  expiring: boolean
  /** The state hashes of the kinds of rows that are not in memory. */
  readonly sums: {
    readonly data: RowSetHash
    readonly sequences: RowSetHash
    readonly events: RowSetHash
    readonly expiry: RowSetHash
  }
}

const NO_MEMBERS: Membership = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }

export function emptyMeta(): Meta {
  return {
    position: { index: 0, term: 0, time: 0 },
    membership: NO_MEMBERS,
    revision: 0,
    arrival: 1,
    tokenBase: 0,
    events: { floor: 1, count: 0, bytes: 0 },
    sums: {
      data: new RowSetHash(),
      sequences: new RowSetHash(),
      events: new RowSetHash(),
      expiry: new RowSetHash(),
    },
    expiring: false,
  }
}

type Packed = readonly [
  format: number,
  position: readonly [number, number, number],
  members: readonly [
    voters: string[],
    outgoing: string[],
    learners: string[],
    learnersNext: string[],
    peers: (readonly [string, string, string])[],
    cluster: string | null,
  ],
  revision: number,
  arrival: number,
  tokenBase: number,
  events: readonly [number, number, number],
  sums: readonly [SumParts, SumParts, SumParts, SumParts],
  expiring: boolean,
]

/** Maps are written as sorted lists, so that equal states have equal bytes. */
export function encodeMeta(meta: Meta): Uint8Array {
  const { position, membership, events, sums } = meta
  const { voters, outgoing, learners, learnersNext, cluster } = membership
  const peers = Object.entries(membership.peers).map(([id, { url, incarnation }]) => [id, url, incarnation])
  peers.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1))
  return withChecksum(
    META_KEY,
    pack([
      FORMAT,
      [position.index, position.term, position.time],
      // The membership contains the id of the cluster. Without the id, a member that started from a snapshot
      // would begin another cluster when it becomes leader.
      [voters, outgoing, learners, learnersNext, peers, cluster ?? null],
      meta.revision,
      meta.arrival,
      meta.tokenBase,
      [events.floor, events.count, events.bytes],
      [sums.data.parts, sums.sequences.parts, sums.events.parts, sums.expiry.parts],
      meta.expiring,
    ]),
  )
}

/**
 * Returns the reason if the row has a wrong shape, else null. If the row has another format number, the shape
 * is not checked, because decodeMeta reports this number.
 */
const shapeOfFormat = (value: unknown): string | null =>
  Array.isArray(value) && value[0] !== FORMAT ? null : META_SHAPE(value)

/** Throws ERR_CORRUPT if the row has changed since it was written. */
export function decodeMeta(value: Uint8Array): Meta {
  const packed = unpackRow(META_KEY, value, shapeOfFormat) as Packed
  if (packed[0] !== FORMAT) throw foreignFormat(packed[0])
  const [, [index, term, time], members, revision, arrival, tokenBase, events, sums, expiring] = packed
  const [voters, outgoing, learners, learnersNext, peers, cluster] = members
  return {
    position: { index, term, time },
    membership: {
      voters,
      outgoing,
      learners,
      learnersNext,
      peers: Object.fromEntries(peers.map(([id, url, incarnation]) => [id, { url, incarnation }])),
      ...(cluster === null ? {} : { cluster }),
    },
    revision,
    arrival,
    tokenBase,
    events: { floor: events[0], count: events[1], bytes: events[2] },
    sums: {
      data: RowSetHash.from(sums[0]),
      sequences: RowSetHash.from(sums[1]),
      events: RowSetHash.from(sums[2]),
      expiry: RowSetHash.from(sums[3]),
    },
    expiring,
  }
}

function foreignFormat(format: unknown): LatchkeyError {
  return new LatchkeyError(
    'ERR_CORRUPT',
    `These rows have format ${show(format)}, this version reads ${FORMAT}. Start the version that wrote them, or rebuild this member from its peers.`,
  )
}
