// Rule: encodes and decodes the stored rows of latches, barriers and the calls that wait at them. The bodies
// are msgpack lists, so that equal states have equal bytes.

import { binary } from '@latchkey/base'
import { CAPS, check, pack } from '@latchkey/protocol'
import { SPACE, keyOf, keyOfNumber, numberIn } from '../keyspaces.js'
import type { BarrierRow, PartyRow } from '../rules/latch-and-barrier-tables.js'
import type { Row } from '../storage/row-store-interface.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import { unpackRow } from './unpack-stored-row.js'

const { count, finite, places, whole, checkTicket } = check

const LATCH_SHAPE = count('a count')
const BARRIER_SHAPE = places(
  'a barrier',
  count('generations'),
  whole(1, CAPS.partiesOfOne, 'parties'),
  count('an arrival'),
)
const STATES = ['waiting', 'passed', 'broken', 'removed'] as const
const PARTY_SHAPE = places(
  'a party',
  checkTicket,
  count('a session'),
  finite('a deadline'),
  whole(0, STATES.length - 1, 'a state'),
  count('a generation'),
  count('an index'),
)

const rowWith = (key: Uint8Array, body: unknown): Row => ({ key, value: withChecksum(key, pack(body)) })

export interface LatchRow {
  readonly name: Uint8Array
  readonly count: number
}

export const encodeLatch = ({ name, count }: LatchRow): Row => rowWith(keyOf(SPACE.latches, name), count)

export const decodeLatch = ({ key, value }: Row): LatchRow => ({
  name: key.subarray(1),
  count: unpackRow(key, value, LATCH_SHAPE) as number,
})

export const encodeBarrier = ({ name, over, parties, used }: BarrierRow): Row =>
  rowWith(keyOf(SPACE.barriers, name), [over, parties, used])

export function decodeBarrier({ key, value }: Row): BarrierRow {
  const [over, parties, used] = unpackRow(key, value, BARRIER_SHAPE) as readonly [number, number, number]
  return { name: key.subarray(1), over, parties, used }
}

export function encodeParty(row: PartyRow): Row {
  const { of, name, id, arrival, session, deadline, state, generation, index } = row
  const packed = [[of, name, id], session, deadline, STATES.indexOf(state), generation, index]
  return rowWith(keyOfNumber(SPACE.parties, arrival), packed)
}

type PackedParty = readonly [
  ticket: readonly [PartyRow['of'], Uint8Array, string],
  session: number,
  deadline: number,
  state: 0 | 1 | 2 | 3,
  generation: number,
  index: number,
]

export function decodeParty({ key, value }: Row): PartyRow {
  const packed = unpackRow(key, value, PARTY_SHAPE) as PackedParty
  const [[of, name, id], session, deadline, state, generation, index] = packed
  const arrival = numberIn(key, 1)
  return { of, name, id, arrival, session, deadline, state: STATES[state], generation, index }
}

/**
 * Returns the key under which a Map in memory has the latch or the barrier. The key of the stored row is
 * another one.
 */
export const waitPointOf = (of: PartyRow['of'], name: Uint8Array): string => `${of}${binary(name)}`
