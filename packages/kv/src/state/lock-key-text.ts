// Rule: converts the key of a lock to text. The rules of one command look up the same key about seven times, so
// this file remembers the last key and its text.
//
// Law: the bytes of a key never change after its first look-up. So the same object always has the same text.

import { EMPTY, binary } from '@latchkey/base'

let lastKey = EMPTY
let lastText = ''

/** Returns the text with one character for each byte, like `binary`. */
export function keyText(key: Uint8Array): string {
  if (key !== lastKey) {
    lastText = binary(key)
    lastKey = key
  }
  return lastText
}
