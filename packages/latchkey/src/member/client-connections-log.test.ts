// Test: the log has one line at level info when a client connects, moves, leaves or is lost, and strangers
// cannot fill the log.

import { silentLogger } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { CLIENTS_PATH, encodeHello } from '@latchkey/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { freePorts } from '../contract/testing/free-ports-and-temporary-folders.js'
import { unlessStalled, until } from '../contract/testing/small-test-functions.js'
import { open } from '../open/index.js'
import { ClientLog } from './client-connections-log.js'

type Line = Readonly<Record<string, unknown>> & { readonly message: string }

function keptLines() {
  const lines: Line[] = []
  const logger = {
    ...silentLogger,
    info: (message: string, fields?: object) => void lines.push({ message, ...fields }),
  }
  const of = (message: string) => lines.filter((line) => line.message === message)
  return { lines, logger, of }
}

test('C21: of each kind ten lines in a minute; the next one tells how many there were', () => {
  let now = 0
  const { lines, logger, of } = keptLines()
  const log = new ClientLog({ clock: { now: () => now }, logger })
  for (let i = 0; i < 1_000; i++) log.connected(`x\n${'y'.repeat(10_000)}`, '10.0.0.1').gone(1006)
  expect([of('a client connected').length, of('a client was lost').length]).toEqual([10, 10])
  expect(lines.length).toBe(20)
  expect(String(lines[0]?.['client'])).toMatch(/^x y{10,}/)
  expect(String(lines[0]?.['client']).length).toBeLessThanOrEqual(200)
  now += 60_000
  log.connected('z', '10.0.0.2')
  expect(lines.at(-1)).toEqual({
    message: 'a client connected',
    client: 'z',
    address: '10.0.0.2',
    times: 991,
  })
})

test('a client connects, is lost or leaves, and goes on at another member: one line each', async () => {
  const [a, b, c] = await freePorts(3)
  const members = { a: `ws://127.0.0.1:${a}`, b: `ws://127.0.0.1:${b}`, c: `ws://127.0.0.1:${c}` }
  const logs = { a: keptLines(), b: keptLines(), c: keptLines() }
  // Nobody else leads until the leader closes, also on a machine that stands still.
  const electionTimeout = 10_000
  const start = (id: 'a' | 'b' | 'c') =>
    open({ id, members, memory: true, electionTimeout, logger: logs[id].logger })
  const stores = { a: await start('a'), b: await start('b'), c: await start('c') }
  onTestFinished(async () => {
    await Promise.all(Object.values(stores).map((store) => store.close()))
  })
  await Promise.all(Object.values(stores).map((store) => store.ready()))
  const leader = (await stores.a.status()).leader as 'a' | 'b' | 'c'
  const remote = await connect(Object.values(members))
  onTestFinished(() => remote.close())
  await remote.put('k', '1')
  await until(() => logs[leader].of('a client connected').length > 0)
  const who = { client: 'anonymous at 127.0.0.1', address: '127.0.0.1' }
  expect(logs[leader].of('a client connected')).toEqual([{ message: 'a client connected', ...who }])
  expect(logs[leader].of('a client moved here with its session')).toEqual([])
  const socket = new WebSocket(members[leader] + CLIENTS_PATH, { perMessageDeflate: false })
  socket.once('open', () =>
    socket.send(
      encodeHello({ cluster: 'latchkey', clusterId: undefined, token: undefined, least: 1, most: 1 }),
    ),
  )
  await new Promise((resolve) => socket.once('message', resolve))
  socket.terminate()
  await until(() => logs[leader].of('a client was lost').length === 1)
  expect(logs[leader].of('a client was lost')).toMatchObject([{ ...who, code: 1006 }])
  await stores[leader].close()
  await remote.put('k', '2', { timeout: '30s' })
  const others = (['a', 'b', 'c'] as const).filter((id) => id !== leader)
  const moved = () => others.flatMap((id) => logs[id].of('a client moved here with its session'))
  await until(() => moved().length > 0)
  expect(moved()[0]).toMatchObject({ ...who, session: expect.any(Number) })
  // A client that closes waits half a second for the answer of its member.
  await unlessStalled(400, async () => {
    await (await connect(Object.values(members))).close()
    await expect.poll(() => others.some((id) => logs[id].of('a client left').length > 0)).toBe(true)
  })
})
