// Test: messages on an incoming connection count only while the connection is in use.

import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { join, MEMBERS_PATH, turnParts } from './frames.js'
import { APP, TYPE } from './message-encoder.js'
import { Crew, type Member, pause, until } from './testing/crew.js'
import { dialAs } from './testing/handshakes.js'

let crew = new Crew()
afterEach(async () => {
  await crew.close()
  crew = new Crew()
})

const beat = (round: number): unknown[] => [TYPE.heartbeat, [], 0, 3, 1, round]
const app = (bytes: number): unknown[] => [APP, [bytes]]
const frameOf = (items: readonly unknown[], bytes = 0) =>
  Buffer.from(join(turnParts(items, [Buffer.alloc(bytes, 7)])))

/**
 * Connects as b, and sends all of these frames at once after the handshake. Resolves with the close code, if
 * there is one.
 */
async function say(
  member: Member,
  frames: readonly Buffer[],
): Promise<{ readonly ended: () => number | undefined }> {
  const socket = new WebSocket(member.url + MEMBERS_PATH, { perMessageDeflate: false })
  let code: number | undefined
  socket.on('error', () => {})
  socket.on('close', (told) => {
    code = told
  })
  const self = { ...member.self, id: 'b', incarnation: 'of b', boot: member.self.boot + 1_000 }
  await new Promise<void>((resolve) => dialAs(self, member.id, socket, resolve))
  const { _socket: raw } = socket as unknown as { _socket: { cork(): void; uncork(): void } }
  raw.cork()
  for (const frame of frames) socket.send(frame)
  raw.uncork()
  return { ended: () => code }
}

const rounds = (member: Member) =>
  member.messages.map((message) => (message.type === 'heartbeat' ? message.round : -1))

// Without this law: a member was removed, or was wiped and started again under its old name. Its connection
// is closed, and messages that it had sent before still move votes and terms.
test('M13: after a connection is closed nothing more of it is delivered, neither the rest of that frame nor later frames', async () => {
  let known = true
  const admit = () => (known ? undefined : 'b is no member any more')
  const a = await crew.start('a', { admit })
  a.network.on('message', () => {
    if (!known) return
    known = false
    a.network.recheck()
  })
  const frames = [frameOf([beat(1), beat(2), app(3), beat(3)], 3), frameOf([beat(4)]), frameOf([app(5)], 5)]
  const { ended } = await say(a, frames)
  await until(() => ended() !== undefined)
  await pause(20)
  expect([rounds(a), a.apps]).toEqual([[1], []])
  expect(ended()).toBe(1008)
  expect(a.refused).toMatchObject([{ id: 'b', by: 'us', reason: 'b is no member any more' }])
})

test('L22: when one message of a frame is malformed, no message of that frame or a later one is delivered', async () => {
  for (const wrong of [
    [TYPE.heartbeat, [], 0, 3, 1],
    [TYPE.heartbeat, [], 1, 3, 1, 9],
    [APP, [], 5],
  ]) {
    const a = await crew.start('a')
    const { ended } = await say(a, [
      frameOf([beat(1)]),
      frameOf([beat(2), wrong, beat(3)]),
      frameOf([beat(4)]),
    ])
    await until(() => ended() !== undefined)
    await pause(20)
    expect([rounds(a), ended(), a.network.stats.malformed]).toEqual([[1], 1002, 1])
    await crew.close()
    crew = new Crew()
  }
})

test('L22: a message of a later build is ignored, and the others of its frame are delivered', async () => {
  const a = await crew.start('a')
  await say(a, [frameOf([beat(1), [99, [4], 'anything'], app(2), beat(2)], 6)])
  await until(() => a.messages.length === 2 && a.apps.length === 1)
  expect([rounds(a), a.apps[0]?.bytes.length, a.apps[0]?.from]).toEqual([[1, 2], 2, 'b'])
  expect([a.network.stats.unknown, a.network.stats.malformed]).toEqual([1, 0])
})
