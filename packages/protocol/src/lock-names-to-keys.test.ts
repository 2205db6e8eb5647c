// Test: the stored keys of locks, semaphores and elections, and how many permits a hold may ask for.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CAPS } from './fixed-limits.js'
import { decodeCommand, isBadCommand, OP, pack } from './index.js'
import { KIND, kindOfLockKey, lockKeyOf, nameOfLockKey, wrongLockKey } from './lock-names-to-keys.js'

const name = fc.uint8Array({ minLength: 1, maxLength: 32 })

test('keys of locks: one name, one key; a key that no name gives is refused', () => {
  fc.assert(
    fc.property(name, fc.constantFrom(...Object.values(KIND)), (bytes, kind) => {
      const key = lockKeyOf(kind, bytes)
      expect([nameOfLockKey(key), kindOfLockKey(key)]).toEqual([bytes, kind])
      expect(wrongLockKey(key)).toBeNull()
    }),
  )
  expect(lockKeyOf(KIND.lock, Buffer.from('orders/42'))).toEqual(Buffer.from('orders/42'))
  const wrong = [[], [0xff], [0xff, 0], [0xff, 0, 0x61], [0xff, 1], [0xff, 9, 0x61]]
  for (const bytes of wrong) expect(wrongLockKey(Uint8Array.from(bytes))).toMatch(/^a lock's key/)
})

test('shares: only of a lock 1 of 0, of a semaphore at most as many permits as it has, and never none', () => {
  const lock = Buffer.from('k')
  const semaphore = lockKeyOf(KIND.semaphore, lock)
  const attempt = (key: Uint8Array, ...share: unknown[]) =>
    decodeCommand(pack([OP.tryLock, key, null, false, 'me', 1_000, 0, null, null, ...share]))
  for (const good of [attempt(lock), attempt(lock, [1, 0]), attempt(semaphore, [2, 2])])
    expect(isBadCommand(good)).toBe(false)
  const bad = [
    attempt(lock, [1, 1]),
    attempt(lock, [2, 0]),
    attempt(lock, null),
    attempt(semaphore),
    attempt(semaphore, [3, 2]),
    attempt(semaphore, [0, 2]),
    attempt(semaphore, [1, 0]),
    attempt(semaphore, [1, CAPS.permits + 1]),
    decodeCommand(pack([OP.resize, lock, 3])),
  ]
  for (const refused of bad) expect(refused).toMatchObject({ bad: 'invalid' })
})
