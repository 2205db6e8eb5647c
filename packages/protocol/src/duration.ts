// Door: converts durations that users give. A wrong duration is a TypeError before anything is sent.

import { show } from './value-in-errors.js'

/**
 * A number of milliseconds, or text such as '250ms', '10s', '2m' or '1h'. The text has a positive whole
 * number and one unit, without a space.
 */
export type Duration = number | `${bigint}${'ms' | 's' | 'm' | 'h'}`

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const
/**
 * In ms, 140,000 years. A longer duration is reduced to this value, so that the sum of a time and a duration
 * stays exact.
 */
const LONGEST = 2 ** 52
const SHAPE = /^([1-9][0-9]*)(ms|s|m|h)$/

export function millis(value: unknown, name: string): number {
  const ms = typeof value === 'string' ? fromText(value) : value
  if (typeof ms === 'number' && Number.isSafeInteger(ms) && ms > 0) return Math.min(ms, LONGEST)
  throw new TypeError(
    `${name} must be a positive whole number of milliseconds or a text such as '250ms', '10s', '2m' or '1h'; got ${show(value)}`,
  )
}

/** The last text and its milliseconds. Most programs give the same lease in each call. */
let lastText = ''
let lastMillis: number | undefined

function fromText(value: string): number | undefined {
  if (value === lastText) return lastMillis
  const match = SHAPE.exec(value)
  lastText = value
  lastMillis = match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : undefined
  return lastMillis
}
