// Test: who is who by a token.

import { expect, test } from 'vitest'
import { ANONYMOUS, type AuthOptions, identify, RIGHTS } from './rights.js'

const auth: AuthOptions = {
  tokens: ['one', { token: 'two', rights: ['read'] }, { token: 'three', name: 'billing' }],
}

test('a caller is called by its name, or by its place in the list, never by its token', () => {
  expect(identify(auth, 'one')).toEqual({
    name: 'token 1',
    rights: RIGHTS,
    keys: undefined,
    locks: undefined,
  })
  expect(identify(auth, 'two')).toMatchObject({ name: 'token 2', rights: ['read'] })
  expect(identify(auth, 'three')).toMatchObject({ name: 'billing', rights: RIGHTS })
})

test('what is none of the tokens is nobody; where none are asked for all are one', () => {
  for (const token of [undefined, '', 'on', 'onee', 'ONE', 'billing'])
    expect(identify(auth, token)).toBeUndefined()
  expect(identify(undefined, 'anything')).toBe(ANONYMOUS)
})
