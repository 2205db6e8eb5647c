// Test: how a member finds the identity and the rights of a token.

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { ANONYMOUS, Identities, RIGHTS } from './identity-and-rights.js'

const sha256 = createHash('sha256').update('four').digest('hex')
const identities = new Identities([
  { token: 'one' },
  { token: 'two', rights: ['read'], keys: ['b/', 'a/', 'a/x'], locks: [] },
  { token: 'three', name: 'billing' },
  { sha256: sha256.toUpperCase(), name: 'by digest' },
])

test('a caller is called by its name, or by its place in the list, never by its token', () => {
  expect(identities.of('one')).toEqual({
    name: 'token 1',
    rights: RIGHTS,
    keys: undefined,
    locks: undefined,
  })
  expect(identities.of('two')).toMatchObject({ name: 'token 2', rights: ['read'] })
  expect(identities.of('three')).toMatchObject({ name: 'billing', rights: RIGHTS })
  expect(identities.of('four')).toMatchObject({ name: 'by digest' })
  expect(identities.of('four')).toBe(identities.of('four'))
})

test('prefixes are in order, and none is below another', () => {
  expect(identities.of('two')?.keys?.map((key) => Buffer.from(key).toString())).toEqual(['a/', 'b/'])
  expect(identities.of('two')?.locks).toEqual([])
})

test('what is none of the tokens is nobody; where none are asked for all are one', () => {
  for (const token of [undefined, '', 'on', 'onee', 'ONE', 'billing', sha256])
    expect(identities.of(token)).toBeUndefined()
  expect(new Identities(undefined).of('anything')).toBe(ANONYMOUS)
})
