// Test: how long a connection may stay without a proof of its identity, which one gives way, and what is
// counted, on a manual clock and with sockets in memory.

import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { RefusalLog, silentLogger } from '@latchkey/base'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { Connections } from './connection-limits-of-port.js'

class MemorySocket extends Duplex {
  readonly remoteAddress: string
  readonly remotePort: number
  written = ''

  constructor(remoteAddress: string, remotePort: number) {
    super()
    this.remoteAddress = remoteAddress
    this.remotePort = remotePort
  }

  override _read(): void {}
  override _write(chunk: Uint8Array, _: string, done: () => void): void {
    this.written += String(chunk)
    done()
  }
}

function port(limits: Partial<Parameters<typeof make>[0]> = {}, isSecure = false) {
  const { clock, connections, refusals } = make({
    strangers: 10,
    strangersOfOneAddress: 10,
    clients: 10,
    clientsOfOneAddress: 10,
    ...limits,
  })
  const server = new EventEmitter()
  connections.watch(server as Server, isSecure)
  let ports = 0
  const come = (address = '10.0.0.1') => {
    const socket = new MemorySocket(address, ++ports)
    server.emit('connection', socket)
    return socket
  }
  /** The second socket of a connection with TLS, after the handshake. */
  const secured = ({ remoteAddress, remotePort }: MemorySocket) => {
    const socket = new MemorySocket(remoteAddress, remotePort)
    server.emit('secureConnection', socket)
    return socket
  }
  const reasons = () => Object.fromEntries(refusals.counts().map(({ reason, count }) => [reason, count]))
  return { clock, connections, come, secured, server, reasons }
}

function make(limits: ConstructorParameters<typeof Connections>[0]['limits']) {
  const clock = new ManualClock()
  const refusals = new RefusalLog({ clock, logger: silentLogger })
  return { clock, refusals, connections: new Connections({ clock, refusals, limits }) }
}

const closed = () => new Promise((resolve) => setImmediate(resolve))
const asSocket = (socket: MemorySocket) => socket as unknown as Socket

test('C22: a stranger has five seconds, and is then told why it is closed', async () => {
  const { clock, connections, come, reasons } = port()
  const [silent, upgraded] = [come(), come()]
  connections.upgraded(asSocket(upgraded))
  clock.advance(4_999)
  expect(connections.counts()).toEqual({ stranger: 2, client: 0, member: 0 })
  clock.advance(1)
  await closed()
  expect(silent.written).toMatch(/^HTTP\/1\.1 408 /)
  // What speaks WebSocket, or will, gets no answer of HTTP.
  expect([upgraded.written, upgraded.destroyed]).toEqual(['', true])
  // Whoever does not read the answer is closed half a second later.
  expect(silent.destroyed).toBe(false)
  clock.advance(500)
  await closed()
  expect(silent.destroyed).toBe(true)
  expect(connections.counts().stranger).toBe(0)
  expect(reasons()).toEqual({ silent: 2 })
  expect(clock.armed).toBe(0)
})

test('C22: while a request is answered a connection has a minute, and sixteen seconds after the last answer', async () => {
  const { clock, connections, come } = port()
  const [asking, idle, proven] = [come(), come(), come()].map(asSocket) as [Socket, Socket, Socket]
  for (const socket of [asking, asking, idle]) connections.asked(socket)
  connections.answered(idle)
  connections.proven(proven, 'client')
  connections.asked(proven)
  // The answer to the first of two requests changes nothing.
  connections.answered(asking)
  clock.advance(15_999)
  expect([asking.destroyed, idle.writable]).toEqual([false, true])
  clock.advance(1)
  expect(idle.writable).toBe(false)
  clock.advance(44_000 - 1)
  expect(asking.destroyed).toBe(false)
  clock.advance(1)
  await closed()
  expect([asking.destroyed, (asking as unknown as MemorySocket).written]).toEqual([true, ''])
  // A client that is being answered has no deadline, and is a stranger again after the answer.
  expect([proven.destroyed, connections.counts().client]).toEqual([false, 1])
  connections.answered(proven)
  expect(connections.counts()).toEqual({ stranger: 1, client: 0, member: 0 })
})

test('C22: a member, and a client with a WebSocket, stay; each is counted once', async () => {
  const { clock, connections, come } = port()
  const [member, client] = [come(), come()].map(asSocket) as [Socket, Socket]
  for (const _ of [1, 2]) {
    expect(connections.proven(member, 'member')).toBe(true)
    expect(connections.proven(client, 'client')).toBe(true)
  }
  connections.asked(client)
  connections.upgraded(client)
  connections.answered(client)
  expect(connections.counts()).toEqual({ stranger: 0, client: 1, member: 1 })
  clock.advance(3_600_000)
  expect([member.destroyed, client.destroyed]).toEqual([false, false])
  member.destroy()
  client.destroy()
  await closed()
  // What closed meanwhile is in no count, and neither is a socket of another server.
  expect(connections.proven(client, 'client')).toBe(true)
  connections.asked(asSocket(new MemorySocket('10.0.0.1', 1)))
  connections.answered(client)
  expect(connections.counts()).toEqual({ stranger: 0, client: 0, member: 0 })
  expect(clock.armed).toBe(0)
})

test('C22: the oldest stranger of an address gives way, then the oldest of all; a late client is refused', async () => {
  const { connections, come, reasons } = port({
    strangers: 3,
    strangersOfOneAddress: 2,
    clients: 2,
    clientsOfOneAddress: 1,
  })
  const [other, first, second] = [come('10.0.0.2'), come(), come()] as const
  expect(reasons()).toEqual({})
  const third = come()
  expect([other, first, second, third].map((socket) => socket.destroyed)).toEqual([false, true, false, false])
  const fourth = come('10.0.0.3')
  expect([other, second, third, fourth].map((socket) => socket.destroyed)).toEqual([
    true,
    false,
    false,
    false,
  ])
  expect(reasons()).toEqual({ 'address-gave-way': 1, 'stranger-gave-way': 1 })
  await closed()
  expect(connections.counts().stranger).toBe(3)

  expect(connections.proven(asSocket(second), 'client')).toBe(true)
  expect(connections.proven(asSocket(third), 'client')).toBe(false)
  expect(reasons()['address-full']).toBe(1)
  expect(connections.proven(asSocket(fourth), 'client')).toBe(true)
  expect(connections.proven(asSocket(come('10.0.0.4')), 'client')).toBe(false)
  expect(reasons()['clients-full']).toBe(1)
  // The place of a client that has left is given again.
  second.destroy()
  await closed()
  expect(connections.proven(asSocket(third), 'client')).toBe(true)
})

test('C22: with TLS the second socket belongs to the same connection', async () => {
  const { clock, connections, come, secured, server } = port({}, true)
  const [raw, slow, gone] = [come(), come(), come()]
  const inner = secured(raw)
  // The same socket can come a second time, and changes nothing.
  server.emit('connection', raw)
  server.emit('secureConnection', inner)
  expect([inner.destroyed, connections.counts().stranger]).toEqual([false, 3])
  connections.proven(asSocket(inner), 'client')
  expect(connections.counts()).toEqual({ stranger: 2, client: 1, member: 0 })
  gone.destroy()
  await closed()
  // A handshake that ends after its connection has closed leaves nothing open.
  expect(secured(gone).destroyed).toBe(true)
  clock.advance(5_000)
  await closed()
  expect([raw.destroyed, slow.destroyed, slow.written]).toEqual([false, true, ''])
  raw.emit('error', new Error('reset'))
  await closed()
  expect([raw.destroyed, connections.counts()]).toEqual([true, { stranger: 0, client: 0, member: 0 }])
})
