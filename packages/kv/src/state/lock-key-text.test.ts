// Test: the text of a lock's key, and which keys keyText remembers. The tests change the bytes of a key after
// its first look-up, so only a remembered key still has its old text.

import { expect, test } from 'vitest'
import { keyText } from './lock-key-text.js'

const MiB = 1024 * 1024

/** Looks a key up, changes its bytes, and returns the text of the second look-up. */
function textAfterChange(key: Uint8Array): string {
  key.set([0x6f, 0x6c, 0x64])
  expect(keyText(key)).toBe('old')
  key.set([0x6e, 0x65, 0x77])
  return keyText(key)
}

test('a key in a message of usual size is remembered', () => {
  expect(textAfterChange(Buffer.alloc(MiB).subarray(7, 10))).toBe('old')
  expect(textAfterChange(new Uint8Array(3))).toBe('old')
})

test('a key in a large message is not remembered, so it does not keep the message in memory', () => {
  expect(textAfterChange(Buffer.alloc(3 * MiB).subarray(7, 10))).toBe('new')
})

test('each byte becomes one character', () => {
  expect(keyText(Uint8Array.of(0, 0xff, 0x41))).toBe('\u0000\u00ffA')
})
