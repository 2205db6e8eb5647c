// Rule: executes the calls of sequences. A sequence gives out blocks of numbers. Its first block starts at 0,
// and two blocks never overlap. A call for a block does not increase the revision, and makes no event.

import { asBuffer, binary } from '@latchkey/base'
import { SPACE, keyOfBinary } from '../keyspaces.js'
import { type Refused, SEQUENCE_USED_UP } from '../commands/answer-encoding.js'
import { CHECKSUM_BYTES, withChecksum } from '../storage/stored-row-checksum.js'
import type { RowTable } from '../state/row-table-with-overlay.js'

/** Returns the start of the next block. A sequence that was never used, or was reset, begins at 0. */
export function nextStart(sequences: RowTable, key: Uint8Array): number {
  const row = sequences.get(binary(key))
  return row === undefined ? 0 : asBuffer(row).readDoubleLE(CHECKSUM_BYTES)
}

/** Returns the first number of the next block, and the first number after the block. */
export function nextBlock(
  sequences: RowTable,
  key: Uint8Array,
  step: number,
): readonly [number, number] | Refused {
  const start = nextStart(sequences, key)
  const end = start + step
  if (!Number.isSafeInteger(end)) return SEQUENCE_USED_UP
  const name = binary(key)
  const body = Buffer.allocUnsafe(8)
  body.writeDoubleLE(end)
  sequences.set(name, withChecksum(keyOfBinary(SPACE.sequences, name), body), sequences.get(name))
  return [start, end]
}

export function reset(sequences: RowTable, key: Uint8Array): true {
  const name = binary(key)
  sequences.set(name, null, sequences.get(name))
  return true
}
