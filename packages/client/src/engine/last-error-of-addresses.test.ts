// Test: an error names the reason for each address that the client could not use.

import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { FailedAddresses } from './last-error-of-addresses.js'

test('C49: each address has the reason seen last, until it is reached', () => {
  const failed = new FailedAddresses()
  expect(failed.describe()).toBeUndefined()
  failed.failed('ws://a:1', new Error('ws://a:1 cannot be reached: refused.'))
  failed.failed('ws://b:1', new Error('too late.'))
  failed.failed('ws://a:1', new Error('ws://a:1 cannot be reached: expired.'))
  expect(failed.describe()).toBe('ws://b:1: too late. ws://a:1 cannot be reached: expired.')
  failed.reached('ws://a:1')
  expect(failed.describe()).toBe('ws://b:1: too late.')
})

test('C49: a dial that was given up says nothing, and what is told is bounded', () => {
  const failed = new FailedAddresses()
  failed.failed('ws://a:1', new LatchkeyError('ERR_CLOSED'))
  failed.failed(undefined, new Error('the own member'))
  expect(failed.describe()).toBeUndefined()
  for (let at = 0; at < 1_000; at++) failed.failed(`ws://a:${at}`, new Error('x'.repeat(10_000)))
  expect(failed.describe()?.length).toBeLessThan(2_000)
  expect(failed.describe()).toContain('ws://a:999')
})
