// Test: what a client is told when an address answers, but not with the handshake of a member, and how a link
// ends that was not open yet.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import { expect, onTestFinished, test } from 'vitest'
import { socketMembers } from './testing/fake-member-on-socket.js'
import { socketDial } from './websocket-link.js'

const { member, opened } = socketMembers()

const dial = async (url: string, more: { clusterId?: string; signal?: AbortSignal } = {}) => {
  const { clusterId, signal = new AbortController().signal } = more
  const options = { clock: systemClock(uptime), cluster: 'latchkey', token: undefined, tls: undefined }
  const events = { reply: () => {}, closed: () => {}, memberRemoved: () => {} }
  return socketDial(url, { ...options, identity: { clusterId } })(events, signal)
}

test.each([
  [401, 'ERR_UNAUTHORIZED', /HTTP status 401 .*Is a Latchkey member running there/],
  [403, 'ERR_NO_LEADER', /HTTP status 403 .*takes no name but localhost/],
  [404, 'ERR_NO_LEADER', /HTTP status 404 .*Is a Latchkey member running there/],
])('an address that answers with the HTTP status %i', async (status, code, message) => {
  const server = createServer().on('upgrade', (_, socket) =>
    socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`),
  )
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(dial(url)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
})

test('a member that has not met its cluster is not used by a store that knows its cluster', async () => {
  const a = await member({ clusterId: '' })
  await expect(dial(a.url, { clusterId: 'x' })).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
  await expect(dial(a.url)).resolves.toBeDefined()
  const b = await member({ clusterId: 'y' })
  await expect(dial(b.url, { clusterId: 'x' })).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
})

test('a dial that was given up before it began, or during the handshake, ends with the reason', async () => {
  const a = await member()
  const reason = new Error('given up')
  await expect(dial(a.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  const giving = new AbortController()
  const dialled = dial(a.url, { signal: giving.signal })
  giving.abort(reason)
  await expect(dialled).rejects.toBe(reason)
  // The signal of an open link is no longer heard.
  const later = new AbortController()
  const link = opened(await dial(a.url, { signal: later.signal }))
  const before = link.received?.() ?? 0
  expect(before).toBeGreaterThan(0)
  later.abort(reason)
  link.probe?.()
  await expect.poll(() => link.received?.()).toBeGreaterThan(before)
})
