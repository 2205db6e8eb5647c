// Test: two spellings of one address are the same address, and other texts are not.

import { expect, test } from 'vitest'
import { canonicalUrl, sameUrl } from './same-url.js'

test.each(['ws://h:1/', 'WS://H:1', 'ws://h:1//'])('%s is the same address as ws://h:1', (url) => {
  expect(sameUrl('ws://h:1', url)).toBe(true)
  expect(canonicalUrl(url)).toBe('ws://h:1')
})

test.each(['ws://h:2', 'wss://h:1', 'ws://h:1/path', 'h:1', ''])(
  '%s is another address than ws://h:1',
  (url) => {
    expect(sameUrl('ws://h:1', url)).toBe(false)
  },
)

test('a text that is no URL is only the same as itself', () => {
  expect([sameUrl('no url', 'no url'), sameUrl('no url', 'no url/')]).toEqual([true, false])
})
