// Rule: converts the key of a lock to text. The rules of one command look up the same key about seven times.
// So this file remembers the last key and its text.
//
// Law: the bytes of a key never change after its first look-up. So the same object always has the same text.
//
// Law: a key in a large buffer is not remembered. Without this law: a small lock command comes in the same
// message as large values. If no command for a lock follows, the remembered key keeps the whole message in
// memory.

import { EMPTY, binary } from '@latchkey/base'

/** In bytes. A message between members is larger only if it has an entry of more than 1 MiB. */
const LARGE = 2 * 1024 * 1024

let lastKey = EMPTY
let lastText = ''

/** Returns the text with one character for each byte, like `binary`. */
export function keyText(key: Uint8Array): string {
  if (key === lastKey) return lastText
  const text = binary(key)
  if (isInLargeBuffer(key)) return text
  lastText = text
  lastKey = key
  return text
}

/**
 * A key at the offset 0 is a copy with its own buffer, because each message has other bytes before a key. For
 * a small copy, V8 has not created the object `buffer` yet. To read `buffer` here would create this object
 * and keep it as long as the key.
 */
const isInLargeBuffer = (key: Uint8Array): boolean => key.byteOffset > 0 && key.buffer.byteLength > LARGE
