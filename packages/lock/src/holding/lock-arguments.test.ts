// Test: the exact limits of the arguments of lock calls: the largest and the smallest value that is taken, and the
// next one, which is refused.

import { EMPTY, utf8 } from '@latchkey/base'
import { type Acquirer, CAPS, KIND, lockKeyOf } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import {
  acquirerArg,
  contextArg,
  fencingKeyArg,
  holdKindArg,
  kindsArg,
  leaseArg,
  lockSpan,
  modeArg,
  permitsArg,
  prefixArg,
} from './lock-arguments.js'

const tooLarge = expect.objectContaining({ code: 'ERR_TOO_LARGE' })
const of = (make: () => unknown) => {
  try {
    return make()
  } catch (error) {
    return error instanceof TypeError ? 'TypeError' : error
  }
}
const DAYS_30 = 30 * 24 * 3_600_000

test('leases, permits, contexts and ids', () => {
  expect([50, DAYS_30, '50ms'].map((lease) => leaseArg(lease))).toEqual([50, DAYS_30, 50])
  for (const lease of [49, DAYS_30 + 1, undefined, 'x']) expect(of(() => leaseArg(lease))).toBe('TypeError')
  expect([1, CAPS.permits].map((permits) => permitsArg(permits, 'permits'))).toEqual([1, CAPS.permits])
  for (const permits of [0, CAPS.permits + 1, 1.5, '1', undefined])
    expect(of(() => permitsArg(permits, 'permits'))).toBe('TypeError')

  expect([undefined, null, ''].map(contextArg)).toEqual([null, null, ''])
  const context = new Uint8Array(CAPS.contextBytes)
  const kept = contextArg(context) as Uint8Array
  context.fill(1)
  expect([kept.length, kept[0]]).toEqual([CAPS.contextBytes, 0])
  expect(contextArg('ü'.repeat(CAPS.contextBytes / 2))).toHaveLength(CAPS.contextBytes / 2)
  expect(of(() => contextArg(new Uint8Array(CAPS.contextBytes + 1)))).toEqual(tooLarge)
  expect(of(() => contextArg(`ü${'a'.repeat(CAPS.contextBytes - 1)}`))).toEqual(tooLarge)

  const acquirer = (more: object) => of(() => acquirerArg({ id: 'x', lease: 1_000, ...more } as Acquirer))
  expect(acquirer({ context: 'c', fencingToken: 7 })).toEqual({
    id: 'x',
    lease: 1_000,
    token: 7,
    context: 'c',
  })
  for (const fencingToken of [undefined, null, 0])
    expect(acquirer({ fencingToken })).toMatchObject({ token: 0 })
  for (const wrong of [{ fencingToken: -1 }, { id: '' }, { id: 7 }, { lease: 1 }, { other: 1 }])
    expect(acquirer(wrong)).toBe('TypeError')
  const id = 'ü'.repeat(CAPS.keyBytes / 2)
  expect(acquirer({ id })).toMatchObject({ id })
  expect(acquirer({ id: `${id}a` })).toEqual(tooLarge)
  for (const none of [undefined, null, 'x']) expect(of(() => acquirerArg(none as never))).toBe('TypeError')
})

test('kinds and modes', () => {
  expect([holdKindArg('lock'), kindsArg('webLock')]).toEqual(['lock', ['webLock']])
  expect(kindsArg('all')).toEqual(['lock', 'semaphore', 'election', 'webLock'])
  for (const kind of [undefined, 'Lock', 'all']) expect(of(() => holdKindArg(kind))).toBe('TypeError')
  expect([undefined, 'exclusive', 'shared'].map(modeArg)).toEqual([undefined, undefined, [1, 0]])
  expect(of(() => modeArg('read'))).toBe('TypeError')
})

test('what is watched or listed: one lock, a prefix, or all locks and nothing of another kind', () => {
  const list = (bytes: Uint8Array | null) => (bytes === null ? null : [...bytes])
  const span = (above: string, target: unknown) => {
    const { start, end } = lockSpan(utf8(above), target)
    return [list(start), list(end)]
  }
  const lock = (name: string) => list(lockKeyOf(KIND.lock, utf8(name)))
  const semaphores = list(lockKeyOf(KIND.semaphore, EMPTY))
  expect(span('', 'k')).toEqual([lock('k'), lock('k\0')])
  expect(span('s/', utf8('k'))).toEqual([lock('s/k'), lock('s/k\0')])
  expect(span('', {})).toEqual([null, semaphores])
  expect(span('', { prefix: 'k' })).toEqual([lock('k'), lock('l')])
  expect(of(() => lockSpan(EMPTY, { key: 'k' }))).toBe('TypeError')
  expect(prefixArg(EMPTY, undefined)).toBeNull()
  expect(list(prefixArg(EMPTY, undefined, KIND.semaphore))).toEqual(semaphores)
  expect(list(prefixArg(utf8('s/'), ''))).toEqual(lock('s/'))
  expect([fencingKeyArg(EMPTY, undefined), fencingKeyArg(EMPTY, null)]).toEqual([null, null])
  expect(list(fencingKeyArg(utf8('s/'), 'k'))).toEqual([...utf8('s/k')])
})
