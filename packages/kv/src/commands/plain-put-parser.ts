// Door: reads a plain put without decoding the command, to save time. A plain put has no guard and no ttl. In
// MessagePack a plain put is:
//
//   fixarray 4 | OP.put | nil | bin8 key | bin8, bin16 or bin32 value, up to the end
//
// Law: `decodeCommand` accepts every command that this file accepts, with the same key and value.

import { CAPS, OP } from '@latchkey/protocol'

const KEY = 5

/**
 * The bytes [from, end) of `data` are a command. If the command is a plain put, returns the offset in `data`
 * at which the value begins, else 0.
 */
export function plainValueAt(data: Uint8Array, from: number, end: number): number {
  if (end - from < KEY || data[from] !== 0x94 || data[from + 1] !== OP.put) return 0
  if (data[from + 2] !== 0xc0 || data[from + 3] !== 0xc4 || data[from + 4] === 0) return 0
  const at = plainKeyEnd(data, from)
  const head = at < end ? headOf(data[at] as number) : 0
  if (head === 0 || at + head > end) return 0
  let length = 0
  for (let i = 1; i < head; i++) length = length * 256 + (data[at + i] as number)
  return length <= CAPS.valueBytes && at + head + length === end ? at + head : 0
}

export const isPlainPut = (body: Uint8Array): boolean => plainValueAt(body, 0, body.length) > 0

/**
 * In MessagePack, a byte string is a tag, a length and the bytes. Returns how many bytes the tag and the
 * length take together, or 0 if the tag does not begin a byte string.
 */
const headOf = (tag: number): number => (tag === 0xc4 ? 2 : tag === 0xc5 ? 3 : tag === 0xc6 ? 5 : 0)

export const plainKeyAt = (from: number): number => from + KEY
export const plainKeyEnd = (data: Uint8Array, from: number): number => from + KEY + (data[from + 4] as number)
