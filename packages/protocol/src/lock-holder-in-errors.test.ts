// Test: how an error names the lock, its token and its holder.

import { expect, test } from 'vitest'
import { LatchkeyError } from './errors.js'
import { describeHolder, fenced, saysHolder } from './lock-holder-in-errors.js'

const holder = { id: 'h1', fencingToken: 7, remainingMillis: 900, sinceMillis: 100 }
const SAID = 'has held it for 100 ms, with token 7, and has 900 ms of its lease left.'

test('a holder is named by its id, and by at most 64 characters of its context', () => {
  const said = (context: unknown) => describeHolder({ ...holder, context } as never)
  expect(said(undefined)).toBe(`h1 ${SAID}`)
  expect(said('')).toBe(`h1 ${SAID}`)
  expect(said(Uint8Array.of(1))).toBe(`h1 ${SAID}`)
  expect(said('job "x"')).toBe(`h1 ("job \\"x\\"") ${SAID}`)
  expect(said('x'.repeat(65))).toBe(`h1 ("${'x'.repeat(64)}") ${SAID}`)
  expect([saysHolder(null), saysHolder(holder as never)]).toEqual(['Nobody holds it now.', `h1 ${SAID}`])
})

test('the error of a write whose guard was not in force names the lock and the token', () => {
  const key = new TextEncoder().encode('orders/42')
  const own = fenced({ key, token: 7 })
  expect(own).toMatchObject({ code: 'ERR_FENCED', key: 'orders/42', token: 7 })
  expect(own.holder).toBeUndefined()
  expect(own.message).toMatch(/ The lock is "orders\/42", the token 7\.$/)
  const answered = new LatchkeyError('ERR_FENCED', 'Said by the member.', { holder: holder as never })
  const told = fenced({ key: Uint8Array.of(0xff), token: 8 }, answered)
  expect(told.message).toBe('Said by the member. The lock is the one of the guard, the token 8.')
  expect(told.holder).toBe(holder)
})
