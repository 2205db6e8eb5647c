// Test: both ends of the links between members, over a simulated connection that the test can cut.

import { copyBytes, seededRandom } from '@latchkey/base'
import type { Link } from '@latchkey/client'
import type { LinkReply, LinkRequest } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { ClientConnection } from './client-connection.js'
import { LinksFromMembers } from './store-links-from-other-members.js'
import { LinksToMembers } from './links-of-own-store-to-other-members.js'
import { decodeMemberMessage, encodeMemberMessage, type LinkMessage } from './non-raft-member-messages.js'

const LEADER: LinkReply = {
  kind: 'leader',
  id: 'b',
  url: 'ws://b',
  term: 3,
  role: 'follower',
  self: 'c',
  clusterId: 'one',
  members: [],
  electionTimeout: 1_000,
  missing: [],
  isFirstStart: false,
}

async function runAll(queue: (() => void)[]): Promise<void> {
  do {
    queue.shift()?.()
    await Promise.resolve()
  } while (queue.length > 0)
  await new Promise((resolve) => setImmediate(resolve))
}

const overTheWire = (message: LinkMessage) =>
  decodeMemberMessage(copyBytes(encodeMemberMessage(message))) as LinkMessage

/** The store in a asks c. Nothing is delivered before `run`. */
function wire() {
  const state = { refusal: undefined as string | undefined, connected: true, takes: true }
  const queue: (() => void)[] = []
  const asked: { who: string; request: LinkRequest; tell: (reply: LinkReply) => void }[] = []
  let open = 0
  const from = new LinksFromMembers({
    defer: (run) => void queue.push(run),
    send: (to, message) => {
      const read = overTheWire(message)
      if (state.connected && state.takes) queue.push(() => to === 'a' && hearAtA(read))
      return state.connected && state.takes
    },
    refusal: () => state.refusal,
    clientConnection: (tell, { name }) => {
      open++
      tell(LEADER)
      return {
        send: (request: LinkRequest) => asked.push({ who: name, request, tell }),
        close: () => open--,
      } as unknown as ClientConnection
    },
  })
  const to = new LinksToMembers({
    random: seededRandom('links'),
    send: (_, message) => {
      const read = overTheWire(message)
      if (state.connected) queue.push(() => hearAtC(read))
      return state.connected
    },
  })
  const hearAtC = (message: LinkMessage) => {
    if (message.kind === 'linkOpen') from.open('a', message.id)
    if (message.kind === 'linkRequests') from.asked('a', message.id, message.frame)
    if (message.kind === 'linkClose') from.closed('a', message.id)
  }
  const hearAtA = (message: LinkMessage) => {
    if (message.kind === 'linkReplies') to.onFrame('c', message.id, message.frame)
    if (message.kind === 'linkClosed') to.closed('c', message.id, message.reason)
  }
  const run = () => runAll(queue)
  const seen = { replies: [] as LinkReply[], closed: [] as string[] }
  const events = {
    reply: (reply: LinkReply) => seen.replies.push(reply),
    closed: (reason: Error) => seen.closed.push(reason.message),
    memberRemoved: () => {},
  }
  const stop = new AbortController()
  const dial = async (id = 'c') => {
    const dialling = to.dialTo(id)(events, stop.signal)
    dialling.catch(() => {})
    await run()
    return dialling
  }
  return { state, from, to, asked, run, seen, dial, stop, hearAtA, hearAtC, opened: () => open }
}

const COMMAND = {
  kind: 'command' as const,
  id: 7,
  session: 5,
  number: 2,
  done: 1,
  body: new Uint8Array([1, 2, 3]),
}

test('M28: a command goes there as it is, in the name of the member that asks; the answer comes back with the leader’s time', async () => {
  const { dial, run, asked, seen, opened, from } = wire()
  const link = await dial()
  expect(seen.replies).toEqual([LEADER])
  link.send(COMMAND)
  await run()
  expect(asked.map(({ who, request }) => [who, { ...request, body: [1, 2, 3] }])).toEqual([
    ['embedded in a', { ...COMMAND, body: [1, 2, 3] }],
  ])
  const [{ body }] = asked.map(({ request }) => request) as [typeof COMMAND]
  expect([...body]).toEqual([1, 2, 3])
  const answer: LinkReply = { kind: 'answer', id: 7, time: 4_711, never: false, answer: [0, 9] }
  asked[0]?.tell(answer)
  await run()
  expect(seen.replies[1]).toEqual(answer)
  link.close()
  await run()
  expect([opened(), from.count, seen.closed]).toEqual([0, 0, []])
})

test('M28: a member that hears no leader refuses, and one that loses it closes what is open', async () => {
  const { state, dial, run, seen, from, opened } = wire()
  state.refusal = 'it does not hear from the leader itself'
  await expect(dial()).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
    message: expect.stringContaining('it does not hear from the leader itself'),
  })
  state.refusal = undefined
  await dial()
  from.closeAll('it does not hear from the leader itself')
  await run()
  expect([opened(), seen.closed.length]).toEqual([0, 1])
})

test('M28: a connection that is lost ends the links on both sides, and what comes later belongs to none', async () => {
  const { state, dial, run, seen, from, to, opened, asked } = wire()
  const link = await dial()
  state.connected = false
  to.gone('d')
  expect(seen.closed).toEqual([])
  to.gone('c')
  expect([seen.closed.length, to.open]).toEqual([1, 0])
  // The one who serves it has not noticed anything: it learns so when the other one opens another link, or by
  // its own connection.
  expect(opened()).toBe(1)
  from.gone('a')
  expect(opened()).toBe(0)
  state.connected = true
  link.send(COMMAND)
  await run()
  expect(asked).toEqual([])
})

test('M28: a link that the other side has lost is answered with its end, also to a question for a sign of life', async () => {
  const { state, dial, run, seen, from } = wire()
  const link: Link = await dial()
  link.probe?.()
  await run()
  expect([link.received?.(), seen.closed]).toEqual([2, []])
  state.connected = false
  from.gone('a')
  state.connected = true
  link.probe?.()
  await run()
  expect(seen.closed.length).toBe(1)
})

test('C5: what another member says of a link is not heard, nor what is said of one of an earlier life', async () => {
  const { dial, to, seen } = wire()
  await dial()
  const id = 1 + seededRandom('links').next() * 2 ** 19 + 1
  to.closed('d', id, 'a stranger says so')
  to.onFrame('d', id, new Uint8Array([1]))
  to.onFrame('c', id + 1, new Uint8Array([1]))
  expect(seen.closed).toEqual([])
  to.onFrame('c', id, new Uint8Array([1]))
  expect(seen.closed.length).toBe(1)
})

test('M28: a store that does not read loses its link, and one that opens too many its oldest', async () => {
  const { state, dial, run, seen, asked, opened, hearAtC } = wire()
  const link = await dial()
  link.send(COMMAND)
  await run()
  state.takes = false
  asked[0]?.tell({ kind: 'answer', id: 7, time: 0, never: false, answer: [0, null] })
  await run()
  expect(opened()).toBe(0)
  state.takes = true
  for (let i = 1; i <= 9; i++) hearAtC({ kind: 'linkOpen', id: i })
  hearAtC({ kind: 'linkOpen', id: 9 })
  expect(opened()).toBe(4)
  hearAtC({ kind: 'linkRequests', id: 9, frame: new Uint8Array([0xc1]) })
  expect(opened()).toBe(3)
  await run()
  expect(seen.replies.length).toBe(1)
})

test('M28: a dial that is given up, and a close, end with their reasons', async () => {
  const { dial, stop, to, run, from, opened } = wire()
  const dialling = to.dialTo('c')({ reply: () => {}, closed: () => {}, memberRemoved: () => {} }, stop.signal)
  stop.abort(new Error('it takes too long'))
  await expect(dialling).rejects.toThrow('it takes too long')
  await run()
  expect([to.open, from.count, opened()]).toEqual([0, 0, 0])
  await expect(dial()).rejects.toThrow('it takes too long')
})
