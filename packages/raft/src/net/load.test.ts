// Test: how long messages and slow readers affect other messages.

import { afterEach, describe, expect, test } from 'vitest'
import { NO_MEMBERS } from '../core/membership.js'
import type { Message } from '../core/types.js'
import { FRAME_LIMIT } from './frames.js'
import { LANE_CAPS } from './send-queues.js'
import { append, Crew, heartbeat, introduce, type Member, pause, until } from './testing/crew.js'

const MiB = 1024 * 1024

let crew = new Crew()
afterEach(async () => {
  await crew.close()
  crew = new Crew()
})

/** No silence closes a connection, also on a machine that stands still. */
const patient = { timing: { ping: 60_000 } }

async function trio(): Promise<[Member, Member, Member]> {
  const [a, b, c] = [
    await crew.start('a', patient),
    await crew.start('b', patient),
    await crew.start('c', patient),
  ]
  introduce(a, b, c)
  await until(() => [b, c].every(({ id }) => a.network.connected(id)))
  return [a, b, c]
}

const chunk = new Uint8Array(256 * 1024)
const piece = (a: Member, b: Member, offset: number): Message => ({
  group: 0,
  from: a.id,
  to: b.id,
  term: 3,
  type: 'snapshot',
  position: { index: 9, term: 2, time: 1 },
  membership: { ...NO_MEMBERS, voters: ['a'], peers: { a: { url: 'ws://a', incarnation: '' } } },
  offset,
  chunk,
  done: false,
})

describe('long messages', () => {
  test('A11: 32 MiB of a snapshot, queued at once, do not keep a heartbeat waiting', async () => {
    const [a, b] = await trio()
    const pieces = (32 * MiB) / chunk.length
    let before = -1
    b.network.on('message', ({ type }) => {
      if (type === 'heartbeat' && before < 0) before = b.messages.length - 1
    })
    // The reader is paused until all is queued, so that the pieces really wait.
    for (const socket of b.sockets) socket.pause()
    for (let i = 0; i < pieces - 1; i++) a.network.send('b', piece(a, b, i * chunk.length))
    a.network.flush()
    await until(() => a.network.heldBytes('b') > 0)
    await pause(20)
    expect(a.network.heldBytes('b')).toBeLessThanOrEqual(FRAME_LIMIT + 64)
    a.network.send('b', heartbeat(a, b, 1))
    for (const socket of b.sockets) socket.resume()
    await until(() => before >= 0)
    await until(() => b.messages.length === pieces)
    // Pieces that the operating system had taken before cannot be overtaken; the heartbeat overtook all
    // pieces that were still queued.
    expect(before).toBeLessThan(pieces / 2)
  })

  test('A11: heartbeats come through while a snapshot streams: only pieces that were under way are before them', async () => {
    const [a, b] = await trio()
    const total = (32 * MiB) / chunk.length
    const underWay = 8
    let sent = 0
    let arrived = 0
    /** For each heartbeat: how many pieces had arrived when it was sent. */
    const before = new Map<number, number>()
    const between: number[] = []
    const more = () => {
      if (sent < total) a.network.send('b', piece(a, b, chunk.length * sent++))
    }
    b.network.on('message', (message) => {
      if (message.type === 'heartbeat') between.push(arrived - (before.get(message.round) as number))
      else {
        arrived++
        // As the core does: the next piece is sent when one has arrived; a few are under way.
        more()
      }
    })
    for (let i = 0; i < underWay; i++) more()
    let round = 0
    while (arrived < total) {
      before.set(++round, arrived)
      a.network.send('b', heartbeat(a, b, round))
      await pause(2)
    }
    await until(() => between.length === round)
    expect(Math.max(...between)).toBeLessThanOrEqual(underWay)
  })
})

describe('L18: a slow reader', () => {
  test('costs a limited amount of memory, and does not slow other members', async () => {
    const [a, b, c] = await trio()
    for (const socket of b.sockets) socket.pause()
    const data = new Uint8Array(MiB)
    let most = 0
    for (let i = 1; i <= 300; i++) {
      a.network.send('b', append(a, b, i, data))
      a.network.send('c', heartbeat(a, c, i))
      most = Math.max(most, a.network.waitingBytes('b'))
      if (i % 10 === 0) await pause(1)
    }
    await until(() => c.messages.length === 300)
    expect(most).toBeLessThanOrEqual(LANE_CAPS.logBytes + MiB)
    expect(a.network.stats.dropped).toBeGreaterThan(200)
    // The layer above learns that its message was not taken.
    let taken = 0
    while (taken < 100 && a.network.sendApp('b', data)) taken++
    expect(taken).toBeGreaterThan(0)
    expect(taken).toBeLessThanOrEqual(16)
    // The reader reads again: the message that was begun arrives, and all later messages are whole.
    for (const socket of b.sockets) socket.resume()
    await until(() => b.apps.length === taken && a.network.waitingBytes('b') === 0)
    for (const message of b.messages) expect(message.type).toBe('append')
    a.network.send('b', heartbeat(a, b, 1))
    await until(() => b.messages.at(-1)?.type === 'heartbeat')
  })
})
