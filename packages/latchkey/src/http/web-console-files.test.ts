// Test: the files of the console are packed only for browsers that take packed files, and run only their own
// scripts.

import { expect, test } from 'vitest'
import { pageReply } from './web-console-files.js'

const file = { type: 'text/css', bytes: Buffer.from('plain'), gzip: Buffer.from('packed') }
const reply = (encoding: string | undefined, name = 'a.css') =>
  pageReply(
    { pageFile: (asked) => (asked === 'a.css' ? file : undefined) },
    { headers: encoding === undefined ? {} : { 'accept-encoding': encoding } },
    name,
  )

test.each([
  [undefined, 'plain'],
  ['', 'plain'],
  ['br', 'plain'],
  ['gzip', 'packed'],
  ['br, gzip;q=1', 'packed'],
  ['gzip;q=0', 'plain'],
])('Accept-Encoding %j', (encoding, body) => {
  const { status, headers, body: sent } = reply(encoding)
  expect([status, String(sent as Buffer)]).toEqual([200, body])
  expect(headers?.['content-encoding']).toBe(body === 'packed' ? 'gzip' : undefined)
  expect(headers).toMatchObject({
    'content-type': 'text/css',
    vary: 'accept-encoding',
    'content-security-policy': expect.stringMatching(/^default-src 'none'; script-src 'self'; /),
  })
})

test('a file that is not there, and a member without a console', () => {
  expect(reply(undefined, 'b.css').status).toBe(404)
  expect(pageReply({ pageFile: undefined }, { headers: {} }, 'a.css').status).toBe(404)
})
