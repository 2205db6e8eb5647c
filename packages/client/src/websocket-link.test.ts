// Test: one link over a real socket of the loopback network: the link knows the cluster of its member from
// the first message on, and notices when its member is silent.

import { once } from 'node:events'
import { uptime } from 'node:os'
import { type Clock, systemClock } from '@latchkey/base'
import { type LeaderReply, type LinkReply, encodeReplies } from '@latchkey/protocol'
import { expect, test, vi } from 'vitest'
import { socketDial } from './websocket-link.js'
import { type SocketMember, socketMembers } from './testing/fake-member-on-socket.js'
import { World } from './testing/virtual-time.js'

const { member, opened } = socketMembers()

const soon = (check: () => void) => vi.waitFor(check, { timeout: 20_000 })

type Identity = { clusterId: string | undefined }

/** Dials, and keeps what is told. */
async function dial(url: string, identity: Identity, clock: Clock = systemClock(uptime)) {
  const told: LinkReply[] = []
  const ends: Error[] = []
  const events = {
    reply: (reply: LinkReply) => void told.push(reply),
    closed: (reason: Error) => void ends.push(reason),
    memberRemoved: () => {},
  }
  const options = {
    clock,
    cluster: 'latchkey',
    token: undefined,
    tls: undefined,
    identity,
  }
  const link = await socketDial(url, options)(events, new AbortController().signal)
  opened(link)
  return { link, told, ends }
}

const leader = (clusterId: string, term: number): LeaderReply => ({
  kind: 'leader',
  id: 'm0',
  url: undefined,
  term,
  role: 'leader',
  self: 'm0',
  clusterId,
  members: [],
  electionTimeout: 1_000,
})

const say = ({ sockets }: SocketMember, ...replies: LinkReply[]) => {
  for (const socket of sockets) for (const frame of encodeReplies(replies)) socket.send(frame)
}

// Without it: the state of a member is replaced by another cluster's while a client is connected; the client
// goes on with its holds and its session, which mean nothing there, and is told values of the other cluster
// as if they were its own.
test('C30: a link whose member is of another cluster from now on ends, and what comes behind that is not told', async () => {
  const a = await member({ clusterId: 'x' })
  const identity: Identity = { clusterId: undefined }
  const { told, ends } = await dial(a.url, identity)
  await soon(() => expect(told).toHaveLength(1))
  expect(identity.clusterId).toBe('x')
  say(a, leader('x', 2), leader('', 3))
  await soon(() => expect(told).toHaveLength(3))
  say(a, leader('x', 4), leader('y', 5), leader('x', 6))
  await soon(() => expect(ends).toHaveLength(1))
  expect(ends[0]).toMatchObject({ code: 'ERR_WRONG_CLUSTER', message: expect.stringContaining(a.url) })
  await soon(() => expect(a.sockets.size).toBe(0))
  expect(told.map((reply) => (reply.kind === 'leader' ? reply.term : 0))).toEqual([1, 2, 3, 4])
  expect([identity.clusterId, ends.length]).toEqual(['x', 1])
})

test('C30: a member that has not met its cluster is used by one that knows none: the first id told is the id for good', async () => {
  const welcome = () => ({ ok: true, version: 1, clusterId: '' }) as const
  const a = await member({ clusterId: '', welcome })
  const identity: Identity = { clusterId: undefined }
  const first = await dial(a.url, identity)
  await soon(() => expect(first.told).toHaveLength(1))
  expect(identity.clusterId).toBeUndefined()
  say(a, leader('x', 2))
  await soon(() => expect(first.told).toHaveLength(2))
  expect(identity.clusterId).toBe('x')
  await expect(dial(a.url, identity)).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
    message: expect.stringContaining('has not met its cluster yet'),
  })
  // The id is said at the next handshake, so that a member of another cluster can refuse.
  expect(a.hellos.map(({ clusterId }) => clusterId)).toEqual([undefined, 'x'])
  const b = await member({ clusterId: 'y' })
  await expect(dial(b.url, identity)).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  expect([first.ends, identity.clusterId]).toEqual([[], 'x'])
})

/** The time in ms between two pings of a link. */
const PING_INTERVAL = 2_500

const onlySocket = ({ sockets }: SocketMember) => [...sockets][0] ?? expect.unreachable('nobody is connected')

// Without this law: a client that only holds locks hears nothing but pongs from its member for hours. Its
// link counts as dead after five seconds, and the client dials without end.
test('a member that answers nothing but pings keeps its link', async () => {
  const [a, world] = [await member({ clusterId: 'x' }), new World()]
  const { told, ends } = await dial(a.url, { clusterId: undefined }, world.clock())
  await soon(() => expect(told).toHaveLength(1))
  const socket = onlySocket(a)
  for (let pings = 0; pings < 4; pings++) {
    const pinged = once(socket, 'ping')
    await world.run(PING_INTERVAL)
    await pinged
    // The client answers the member's ping only after it has read the pong that was sent before.
    const answered = once(socket, 'pong')
    socket.ping()
    await answered
  }
  expect([told.length, ends]).toEqual([1, []])
})

// Without this law: a member's host loses its power. No packet says so, and the client's calls wait for the
// end of the TCP connection, which takes minutes.
test('a member that answers no ping loses its link after two intervals', async () => {
  const [a, world] = [await member({ clusterId: 'x' }), new World()]
  const { told, ends } = await dial(a.url, { clusterId: undefined }, world.clock())
  await soon(() => expect(told).toHaveLength(1))
  onlySocket(a).pause()
  await world.run(PING_INTERVAL)
  expect(ends).toEqual([])
  await world.run(PING_INTERVAL)
  expect(ends).toMatchObject([{ code: 'ERR_NO_LEADER', message: expect.stringContaining('does not answer') }])
})
