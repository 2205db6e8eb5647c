// Test: how many bytes a connection may send before its handshake.

import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { GREETING_LIMIT, watchStranger } from './greeting-size-limit.js'

function scene() {
  const raw = new PassThrough()
  const state = { ended: 0 }
  const greeted = watchStranger({ terminate: () => void state.ended++ }, raw)
  const say = (bytes: number) => void raw.emit('data', Buffer.alloc(bytes))
  return { raw, state, greeted, say }
}

// Without this limit: a thousand strangers each send a frame of 1 MiB, and the member keeps all of them in
// memory until the frames are whole.
test('C39: 16 KiB before the greeting are accepted, in one piece or in many; one byte more ends the connection', () => {
  expect(GREETING_LIMIT).toBe(16 * 1024)
  const whole = scene()
  whole.say(GREETING_LIMIT)
  expect(whole.state.ended).toBe(0)
  whole.say(1)
  expect(whole.state.ended).toBe(1)
  const pieces = scene()
  for (let i = 0; i < 16; i++) pieces.say(1024)
  expect(pieces.state.ended).toBe(0)
  pieces.say(1)
  expect(pieces.state.ended).toBe(1)
})

test('after the greeting the number of bytes is not limited', () => {
  const { raw, state, greeted, say } = scene()
  say(GREETING_LIMIT)
  greeted()
  for (let i = 0; i < 4; i++) say(GREETING_LIMIT)
  expect([state.ended, raw.listenerCount('data')]).toEqual([0, 0])
})

test('the bytes that contained the greeting do not count, though they are counted after it', () => {
  const raw = new PassThrough()
  let ended = 0
  let greeted: (() => void) | undefined
  raw.on('data', () => greeted?.())
  greeted = watchStranger({ terminate: () => void ended++ }, raw)
  raw.emit('data', Buffer.alloc(GREETING_LIMIT * 2))
  expect(ended).toBe(0)
})
