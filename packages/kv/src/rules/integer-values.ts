// Rule: reads and changes values that are whole numbers, stored as decimal text.
//
// Law: a text is a number only if `String` of a safe integer gives that text. Without this law:
// '9007199254740993' is read as 9007199254740992, and a counter loses one.

import { binary, text, utf8 } from '@latchkey/base'
import type { CommandOf } from '@latchkey/protocol'
import { NOT_A_NUMBER, Refused, SUM_TOO_LARGE } from '../commands/answer-encoding.js'
import { valueLength, valueOf } from '../state/key-value-row-format.js'
import type { WriteSet } from './command-write-set.js'

/** In characters, the length of '-9007199254740991', the longest text of a safe integer. */
const MOST_DIGITS = 17
const INTEGER = /^(0|-?[1-9][0-9]*)$/

/** Returns the number in the row, 0 if the row is absent, or a refusal if the value is no number. */
export function numberIn(row: Uint8Array | undefined): number | Refused {
  if (row === undefined) return 0
  if (valueLength(row) > MOST_DIGITS) return NOT_A_NUMBER
  const said = text(valueOf(row))
  const number = INTEGER.test(said) ? Number(said) : Number.NaN
  return Number.isSafeInteger(number) ? number : NOT_A_NUMBER
}

export function add(writeSet: WriteSet, key: Uint8Array, by: number): number | Refused {
  const before = numberIn(writeSet.row(binary(key)))
  if (before instanceof Refused) return before
  const sum = before + by
  if (!Number.isSafeInteger(sum)) return SUM_TOO_LARGE
  writeSet.change(key, utf8(String(sum)))
  return sum
}

export function increment(
  writeSet: WriteSet,
  [, , key, by]: CommandOf<'increment'>,
): readonly [number, number] | Refused {
  const sum = add(writeSet, key, by)
  return sum instanceof Refused ? sum : [sum, writeSet.commit()]
}
