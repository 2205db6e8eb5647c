// Test: a body is read up to its limit, and a refused body is still taken, so that its caller can read the
// refusal.

import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Sender } from '../member/unfinished-messages-limit.js'
import { readBody } from './read-body.js'

function reading(most: number) {
  const request = new PassThrough()
  const sizes: number[] = []
  let left = 0
  let sender: Sender | undefined
  const bodies = {
    received: (from: Sender, size: number) => {
      sender = from
      sizes.push(size)
    },
    left: () => void left++,
  }
  const body = readBody(request as unknown as IncomingMessage, most, bodies)
  const end = (why: 'slow' | 'busy') => sender?.end(why as never)
  return { request, body, sizes, end, sender: () => sender, timesLeft: () => left }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a body of the limit is read, and a longer one is refused when all of it has come', async () => {
  const one = reading(4)
  one.request.write('ab')
  one.request.end('cd')
  expect(String(await one.body)).toBe('abcd')
  expect(one.sizes).toEqual([2, 4])
  expect(one.timesLeft()).toBeGreaterThan(0)
  const more = reading(4)
  let refused = false
  more.body.catch(() => (refused = true))
  more.request.write('abcde')
  await settled()
  expect(refused).toBe(false)
  more.request.end()
  await expect(more.body).rejects.toMatchObject({ code: 'ERR_TOO_LARGE', message: /larger than 4 bytes/ })
  const empty = reading(0)
  empty.request.end()
  expect(await empty.body).toHaveLength(0)
})

test('of a body over 16 MiB no more is waited for, and the rest is dropped', async () => {
  const { request, body } = reading(4)
  const piece = Buffer.alloc(1024 * 1024)
  for (let i = 0; i < 16; i++) request.write(piece)
  await settled()
  const refused = expect(body).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' })
  request.write('x')
  await refused
  request.end(piece)
  await settled()
  expect(request.readableEnded).toBe(true)
})

test('a body that the member ends, because it is slow or because too much is incomplete', async () => {
  for (const [why, expected] of [
    ['slow', { message: /did not arrive in time/ }],
    ['busy', { code: 'ERR_BUSY' }],
  ] as const) {
    const { request, body, end } = reading(100)
    request.write('ab')
    await settled()
    end(why)
    await expect(body).rejects.toMatchObject(expected)
    expect(request.destroyed).toBe(false)
  }
  const { request, body, sender } = reading(100)
  request.write('ab')
  await settled()
  sender()?.destroy()
  await expect(body).rejects.toThrow(TypeError)
  expect(request.destroyed).toBe(true)
})

test('a connection that closes in the midst is a mistake of the caller', async () => {
  const { request, body } = reading(100)
  request.write('ab')
  request.destroy(new Error('reset'))
  await expect(body).rejects.toThrow(/closed before the whole body/)
})
