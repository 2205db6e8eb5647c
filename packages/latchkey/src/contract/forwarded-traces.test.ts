// Test: a trace passes from a client through a follower to the leader, and both members log its id, without
// an SDK.

import { once } from 'node:events'
import { decodeReplies, encodeCommand, encodeHello, encodeRequests, OP } from '@latchkey/protocol'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { unlessStalled, until } from './testing/small-test-functions.js'
import { openTrio, type Trio } from './testing/three-embedded-members.js'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACE = `00-${TRACE_ID}-b7ad6b7169203331-01`
const STALL_MS = 300

type Line = readonly [level: string, message: string, fields: Readonly<Record<string, unknown>> | undefined]
const lines: Line[] = []
const at = (level: string) => (message: string, fields?: Line[2]) => void lines.push([level, message, fields])
const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }

const folder = tempFolders()
let trio: Trio
beforeAll(async () => {
  trio = await openTrio(folder(), { logger })
})
beforeEach(() => {
  lines.length = 0
})
afterAll(() => trio?.close())

/** A connection of a client to this member, after its handshake. */
async function connectTo(url: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url}/clients`)
  socket.binaryType = 'nodebuffer'
  onTestFinished(() => socket.terminate())
  await once(socket, 'open')
  socket.send(encodeHello({ cluster: 'latchkey', clusterId: undefined, token: undefined, least: 1, most: 1 }))
  await once(socket, 'message')
  return socket
}

test('the lines of the follower and of the leader have the ids of the client that asked', () =>
  unlessStalled(STALL_MS, async () => {
    lines.length = 0
    const { id } = await (await trio.follower()).status()
    const socket = await connectTo(trio.urls[id] as string)
    const body = encodeCommand([OP.openSession, 30_000])
    const [frame] = encodeRequests([
      { kind: 'command', id: 1, session: 0, number: 0, done: 0, body, trace: TRACE },
    ])
    let isAnswered = false
    socket.on('message', (bytes: Buffer) => {
      const replies = decodeReplies(bytes)
      isAnswered ||= typeof replies !== 'string' && replies.some(({ kind }) => kind === 'answer')
    })
    socket.send(frame as Uint8Array)
    await until(() => isAnswered)
    const ofTrace = lines.filter(([, , fields]) => fields?.['trace_id'] === TRACE_ID)
    const fields = {
      trace_id: TRACE_ID,
      span_id: 'b7ad6b7169203331',
      operation: 'openSession',
      millis: expect.any(Number) as number,
    }
    expect(ofTrace.map(([, , found]) => found)).toEqual([fields, fields])
  }))

test('OB3: a frame with a trace that is none closes the connection, and nothing of it is done', async () => {
  const [url] = Object.values(trio.urls)
  const socket = await connectTo(url as string)
  const body = encodeCommand([OP.openSession, 30_000])
  const trace = `00-${'0'.repeat(32)}-b7ad6b7169203331-01`
  const [frame] = encodeRequests([{ kind: 'command', id: 1, session: 0, number: 0, done: 0, body, trace }])
  socket.send(frame as Uint8Array)
  const [code] = (await once(socket, 'close')) as [number]
  expect(code).toBe(1002)
  expect(lines.filter(([, message]) => message.includes('traced'))).toEqual([])
})
