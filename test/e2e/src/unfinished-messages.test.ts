// Test: clients stop in the middle of large messages, and bodies never end, at a real member: its memory is
// limited, other clients are served, and each of these connections is closed in time.

import { readFile } from 'node:fs/promises'
import { connect as dial, type Socket } from 'node:net'
import { connect } from '@latchkey/client'
import { CAPS, encodeHello } from '@latchkey/protocol'
import { ask } from '@latchkey/test-chaos/ask'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'

const MiB = 1024 * 1024
const CLIENTS = 40
const STUCK_AT = 15 * MiB
/** 64 MiB and one largest message, and what the garbage collector has not given back yet. */
const MOST_MEMORY = (CAPS.unfinishedBytes + CAPS.maxPayload) / MiB + 250
/** Two windows of 5 s, with room for a machine that stands still. */
const ENDED_MS = 25_000

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start({ size: 1 })
})
afterAll(() => cluster.destroy())

const UPGRADE =
  'GET /clients HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'

/** As a client masks it, with a mask of zeros. */
function frameHead(length: number): Buffer {
  const head = Buffer.alloc(14)
  head.writeUInt16BE(0x82ff)
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

interface Stuck {
  readonly socket: Socket
  said: string
  isGone: boolean
}

/** Greets, and says all but the end of a message. */
function stuck(port: number, filler: Buffer): Stuck {
  const hello = encodeHello({
    cluster: 'latchkey',
    clusterId: undefined,
    token: undefined,
    least: 1,
    most: 1,
  })
  const socket = dial(port, '127.0.0.1', () => void socket.write(UPGRADE))
  const one: Stuck = { socket, said: '', isGone: false }
  socket.on('error', () => {})
  socket.on('close', () => (one.isGone = true))
  socket.once('data', () => {
    socket.on('data', (bytes) => (one.said += bytes.toString('latin1')))
    socket.write(Buffer.concat([frameHead(hello.length), hello]))
    socket.write(frameHead(CAPS.maxPayload))
    socket.write(filler)
  })
  return one
}

async function residentMiB(): Promise<number> {
  const status = await readFile(`/proc/${cluster.members[0]?.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

test('C45: forty clients within 15 MiB each: the memory is bounded, others are served, and all are ended', async () => {
  const port = cluster.members[0]?.options.port as number
  const store = await connect(cluster.urls)
  await store.put('k', 'before')
  const before = await residentMiB()
  let most = before
  const filler = Buffer.alloc(STUCK_AT)
  const clients = Array.from({ length: CLIENTS }, () => stuck(port, filler))
  try {
    await until(
      'each of them is ended',
      async () => {
        most = Math.max(most, await residentMiB())
        await store.put('k', 'meanwhile', { timeout: '30s' })
        return clients.every(({ isGone }) => isGone)
      },
      ENDED_MS + 15_000,
    )
    expect(most - before).toBeLessThan(MOST_MEMORY)
    expect(clients.some(({ said }) => said.includes('ERR_BUSY'))).toBe(true)
    const figures = await ask(`${cluster.members[0]?.http}/metrics`, { timeout: 10_000 })
    expect(figures?.body).toMatch(/latchkey_refused_total\{door="clients",reason="unfinished-busy"\} [1-9]/)
  } finally {
    for (const { socket } of clients) socket.destroy()
    await store.close()
  }
})

test('C45: a body that never ends is told 408 in time', async () => {
  const port = cluster.members[0]?.options.port as number
  const began = performance.now()
  const socket = dial(port, '127.0.0.1')
  const drip = setInterval(() => socket.write('x'), 500)
  let said = ''
  try {
    socket.write('PUT /v1/kv/slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\nbegin')
    await new Promise<void>((resolve) => {
      socket.on('error', () => {})
      socket.on('data', (bytes) => (said += bytes.toString()))
      socket.on('close', () => resolve())
    })
  } finally {
    clearInterval(drip)
    socket.destroy()
  }
  expect(said).toContain('HTTP/1.1 408')
  expect(performance.now() - began).toBeLessThan(ENDED_MS)
})
