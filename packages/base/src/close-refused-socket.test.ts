// Test: a member soon closes a refused socket, whatever the other side does.

import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { uptime } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from './clock.js'
import { endRefused } from './close-refused-socket.js'

/** A server that refuses each connection with this answer, and one client that is connected to the server. */
async function scene(answer: string | Uint8Array) {
  const server = createServer({ allowHalfOpen: true })
  const gone = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      socket.once('close', () => resolve())
      endRefused(socket, answer, systemClock(uptime))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket: Socket = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  })
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  return { socket, gone }
}

test('C20: a client that never closes its side loses the socket all the same', async () => {
  const { socket, gone } = await scene('no')
  let said = ''
  socket.on('data', (chunk) => (said += String(chunk)))
  await gone
  await expect.poll(() => said).toBe('no')
})

test('C20: so does a client that reads nothing of a long answer and goes on sending', async () => {
  const { socket, gone } = await scene(new Uint8Array(32 * 1024 * 1024))
  await once(socket, 'connect')
  const more = setInterval(() => socket.write('more'), 20)
  await gone.finally(() => clearInterval(more))
})
