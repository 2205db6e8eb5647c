// Door: the usual put, without a guard, read where it stands: nearly all of the bytes that are written come by it.
//
//   fixarray 4 | OP.put | nil | bin8 key | bin8, bin16 or bin32 value, up to the end
//
// Law: what is taken here is what `decodeCommand` takes, with the same key and value; it may leave any command to that.

import { CAPS, OP } from '@latchkey/protocol'

/** Of the key, in the command. */
const KEY = 5

/** A command in [from, end) of some bytes: where its value begins; 0: it is another one, or has to be looked at closely. */
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

/** A command without a fault that needs no decoding to be let in. */
export const isPlainPut = (body: Uint8Array): boolean => plainValueAt(body, 0, body.length) > 0

/** Of bytes of so many: tag and length. */
const headOf = (tag: number): number => (tag === 0xc4 ? 2 : tag === 0xc5 ? 3 : tag === 0xc6 ? 5 : 0)

export const plainKeyAt = (from: number): number => from + KEY
export const plainKeyEnd = (data: Uint8Array, from: number): number => from + KEY + (data[from + 4] as number)
