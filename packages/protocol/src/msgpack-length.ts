// Rule: computes how many bytes `pack` makes of a value, without making them.
//
// Law: the result is equal to `pack(value).length`. Without this law: one member counts the bytes of a kept
// answer by this file, and another member counts the bytes that it has read from its disk. Then one member
// refuses a call of a full session, and the other member executes the call.

const FIXED_TEXT = 32
const FIXED_ARRAY = 16

/** `value` consists of numbers, text, bytes, booleans, nil, and arrays of such values. */
export function packedLength(value: unknown): number {
  if (typeof value === 'number') return numberLength(value)
  if (typeof value === 'string') return textLength(value)
  if (value instanceof Uint8Array) return 1 + lengthBytes(value.length) + value.length
  return Array.isArray(value) ? arrayLength(value) : 1
}

function numberLength(value: number): number {
  if (value >>> 0 === value && !Object.is(value, -0)) return value < 0x80 ? 1 : 1 + lengthBytes(value)
  if ((value | 0) === value && value !== 0) return value >= -32 ? 1 : 5
  return 9
}

function textLength(value: string): number {
  const length = utf8Length(value)
  return 1 + (length < FIXED_TEXT ? 0 : lengthBytes(length)) + length
}

/** Counts short ASCII text without a slow call of native code. */
function utf8Length(value: string): number {
  if (value.length > 64) return Buffer.byteLength(value)
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 0x7f) return Buffer.byteLength(value)
  return value.length
}

function arrayLength(list: readonly unknown[]): number {
  let sum = list.length < FIXED_ARRAY ? 1 : list.length < 0x10000 ? 3 : 5
  for (let i = 0; i < list.length; i++) sum += packedLength(list[i])
  return sum
}

/** How many bytes a number or a length takes behind its tag. */
const lengthBytes = (number: number): number => (number < 0x100 ? 1 : number < 0x10000 ? 2 : 4)
