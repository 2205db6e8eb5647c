// Test: an outgoing connection that is closed, in each of its states, leaves no timer and no socket, and is never
// dialled again.

import { silentLogger, seededRandom } from '@latchkey/base'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../memory/manual-clock.js'
import { newStats, withDefaults } from './network-settings.js'
import { OutgoingConnection } from './outgoing-connection.js'
import { Crew, until } from './testing/crew.js'

const SELF = {
  cluster: 'latchkey',
  clusterId: '',
  id: 'a',
  incarnation: 'of a',
  boot: 1,
  group: 0,
  level: 1,
  tokens: [],
}

function connectionTo(url: string) {
  const clock = new ManualClock()
  const events: string[] = []
  const settings = withDefaults({
    clock,
    random: seededRandom('outgoing'),
    defer: (run) => void setImmediate(run),
    logger: silentLogger,
    self: () => SELF,
  })
  const stats = newStats()
  const connection = new OutgoingConnection(
    { id: 'b', url },
    settings,
    {
      peer: ({ state }) => events.push(state),
      refused: ({ code }) => events.push(code),
    },
    stats,
  )
  connection.start()
  return { clock, events, connection }
}

const crew = new Crew()
let server: Server | undefined
afterEach(async () => {
  server?.close()
  await crew.close()
})

// Without this law: a member that was removed and closed is dialled for ever by whoever knew it.
test('closed while it waits for its next attempt', async () => {
  const { clock, events, connection } = connectionTo('nonsense')
  expect([events, clock.armed]).toEqual([['ERR_PROTOCOL'], 1])
  await connection.close()
  expect(clock.armed).toBe(0)
  clock.advance(60_000)
  expect(events).toEqual(['ERR_PROTOCOL'])
  await connection.close()
})

test('closed while the other side has not answered yet', async () => {
  const sockets: Socket[] = []
  server = createServer((socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { clock, events, connection } = connectionTo(
    `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
  )
  await until(() => sockets.length === 1)
  const [accepted] = sockets as [Socket]
  const ended = new Promise((resolve) =>
    accepted
      .on('error', () => {})
      .resume()
      .once('close', resolve),
  )
  expect(clock.armed).toBe(1)
  await connection.close()
  await ended
  expect(clock.armed).toBe(0)
  clock.advance(60_000)
  expect([events, sockets.length]).toEqual([[], 1])
})

test('closed while it is connected', async () => {
  const member = await crew.start('b')
  const { clock, events, connection } = connectionTo(member.url)
  await until(() => events.length > 0)
  expect([events, clock.armed]).toEqual([['up'], 1])
  await connection.close()
  expect([
    clock.armed,
    connection.send({ group: 0, from: 'a', to: 'b', term: 1, type: 'timeoutNow' }),
  ]).toEqual([0, false])
  clock.advance(60_000)
  expect(events).toEqual(['up'])
})
