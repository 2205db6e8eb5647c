// Rule: values that are whole numbers, written as decimal text.
//
// Law: a text is a number only if `String` of a safe integer gives that text. Without this law:
// '9007199254740993' is read as a number that differs by one, and a counter silently loses one.

import { binary, text, utf8 } from '@latchkey/base'
import type { Command, OP } from '@latchkey/protocol'
import { NOT_A_NUMBER, Refused, SUM_TOO_LARGE } from '../commands/answers.js'
import { valueLength, valueOf } from '../state/data-row.js'
import type { Draft } from './draft.js'

/** The length of '-9007199254740991'. */
const MOST_DIGITS = 17
const INTEGER = /^(0|-?[1-9][0-9]*)$/

/** The number in a row's value; an absent row is 0. */
export function numberIn(row: Uint8Array | undefined): number | Refused {
  if (row === undefined) return 0
  if (valueLength(row) > MOST_DIGITS) return NOT_A_NUMBER
  const said = text(valueOf(row))
  const number = INTEGER.test(said) ? Number(said) : Number.NaN
  return Number.isSafeInteger(number) ? number : NOT_A_NUMBER
}

/** Stores the sum and returns it. */
export function add(draft: Draft, key: Uint8Array, by: number): number | Refused {
  const before = numberIn(draft.row(binary(key)))
  if (before instanceof Refused) return before
  const sum = before + by
  if (!Number.isSafeInteger(sum)) return SUM_TOO_LARGE
  draft.change(key, utf8(String(sum)))
  return sum
}

type Increment = Extract<Command, readonly [typeof OP.increment, ...unknown[]]>

export function increment(draft: Draft, [, , key, by]: Increment): readonly [number, number] | Refused {
  const sum = add(draft, key, by)
  return sum instanceof Refused ? sum : [sum, draft.commit()]
}
