// Door: the usual put, without a guard, read where it stands: nearly all of the bytes that are written come by it.
//
//   fixarray 4 | OP.put | nil | bin8 key | bin8, bin16 or bin32 value, up to the end
//
// Law: what is taken here is what `decodeCommand` takes, with the same key and value; it may leave any command to that.

import { CAPS, OP } from '@latchkey/protocol'

/** Of the key. */
export const KEY_AT = 5

/** Where the value begins; 0: it is another command, or has to be looked at closely. The key ends at `keyEnd`. */
export function plainValueAt(body: Uint8Array): number {
  if (body[0] !== 0x94 || body[1] !== OP.put || body[2] !== 0xc0 || body[3] !== 0xc4 || body[4] === 0)
    return 0
  const at = keyEnd(body)
  const head = body[at] === 0xc4 ? 2 : body[at] === 0xc5 ? 3 : body[at] === 0xc6 ? 5 : 0
  if (head === 0) return 0
  let length = 0
  for (let i = 1; i < head; i++) length = length * 256 + (body[at + i] ?? 0)
  return length <= CAPS.valueBytes && at + head + length === body.length ? at + head : 0
}

/** A command without a fault that needs no decoding to be let in. */
export const isPlainPut = (body: Uint8Array): boolean => plainValueAt(body) > 0

export const keyEnd = (body: Uint8Array): number => KEY_AT + (body[4] as number)
