// Test: a member gives up connections of clients that are silent, but not of clients that are still sending a
// long message.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as dial, type AddressInfo } from 'node:net'
import { ConnectionErrors, RefusalLog, silentLogger } from '@latchkey/base'
import { encodeHello } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, onTestFinished, test } from 'vitest'
import { ClientWebSockets } from './client-websockets.js'
import { ClientLog } from './client-connections-log.js'
import { UnreadBytesLimit } from './unread-bytes-limit.js'
import { ANONYMOUS } from './identity-and-rights.js'
import type { ClientConnection } from './client-connection.js'
import { UnfinishedMessagesLimit } from './unfinished-messages-limit.js'

const UPGRADE =
  'GET /clients HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
const PING_MS = 10_000
const KiB = 1024

/** As a client masks it, with a mask of zeros. */
function frameHead(length: number): Buffer {
  const head = Buffer.alloc(14)
  head.writeUInt16BE(0x82ff)
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

/** A client that has greeted, by the bare bytes of its socket: it answers no ping. */
async function scene() {
  const clock = new ManualClock()
  const refusals = new RefusalLog({ clock, logger: silentLogger })
  const unfinished = new UnfinishedMessagesLimit({ clock, refusals })
  const clientConnection = { close: () => {}, send: () => {} } as unknown as ClientConnection
  const websockets = new ClientWebSockets({
    clock,
    errors: new ConnectionErrors({ clock, logger: silentLogger }),
    log: new ClientLog({ clock, logger: silentLogger }),
    applied: () => 0,
    refusals,
    unreadBytes: new UnreadBytesLimit(refusals),
    unfinished,
    cluster: 'latchkey',
    clusterId: () => '',
    defer: (run) => run(),
    refusal: () => undefined,
    clientConnection: () => clientConnection,
  })
  const server = createServer()
  server.on('upgrade', (request, socket, head) =>
    websockets.upgrade(request, socket, head, {
      address: 'a',
      admitClient: () => true,
      identify: () => ANONYMOUS,
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = dial((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    websockets.close()
    server.close()
  })
  let said = ''
  const gone = once(socket, 'close')
  socket.on('error', () => {})
  socket.write(UPGRADE)
  await once(socket, 'data')
  socket.on('data', (bytes) => (said += bytes.toString('latin1')))
  const hello = encodeHello({
    cluster: 'latchkey',
    clusterId: undefined,
    token: undefined,
    least: 1,
    most: 1,
  })
  socket.write(Buffer.concat([frameHead(hello.length), hello]))
  // The welcome.
  await expect.poll(() => said.length).toBeGreaterThan(0)
  return { clock, websockets, socket, unfinished, gone, said: () => said }
}

test('C8: a client that says nothing for two pings is gone', async () => {
  const { clock, gone, websockets } = await scene()
  clock.advance(2 * PING_MS)
  await gone
  await expect.poll(() => websockets.connections).toBe(0)
})

test('C8, C45: a client in the midst of a long message answers no ping, and stays as long as it goes on; then it is told why not', async () => {
  const { clock, socket, unfinished, gone, websockets, said } = await scene()
  socket.write(frameHead(16_000 * KiB))
  for (let second = 1; second <= 60; second++) {
    socket.write(Buffer.alloc(64 * KiB))
    await expect.poll(() => unfinished.bytes, { interval: 5 }).toBe(second * 64 * KiB + 14)
    clock.advance(1_000)
  }
  expect([websockets.connections, said().includes('ERR_BUSY')]).toEqual([1, false])
  clock.advance(10_000)
  await expect.poll(said).toContain('ERR_BUSY')
  socket.end()
  await gone
  await expect.poll(() => [websockets.connections, unfinished.bytes]).toEqual([0, 0])
})
