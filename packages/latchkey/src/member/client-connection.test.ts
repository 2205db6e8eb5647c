// Test: one client cannot affect another client through a member, and can make the member use only a limited
// amount of memory.

import type { LinkReply, LinkRequest } from '@latchkey/client'
import { utf8 } from '@latchkey/base'
import { decodeAnswer, encodeCommand, ERROR_CODES, OP, READ, SESSION_OVER, STEP } from '@latchkey/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OpenedMember } from '../open/open-member.js'
import { checkOptions } from '../open/options.js'
import { SessionAttachments } from './connections-of-sessions.js'
import { Outbox } from './replies-to-connection.js'
import { ANONYMOUS, type Identity, type Right, RIGHTS } from './identity-and-rights.js'
import type { ClientConnection } from './client-connection.js'

let opened: OpenedMember
beforeEach(async () => {
  opened = await OpenedMember.open(
    checkOptions({ id: 'a', memory: true, electionTimeout: 100, heartbeat: 20 }),
  )
  await opened.store.ready()
  for (const key of ['a', 'b', 'c']) await opened.store.put(key, 'v')
})
afterEach(() => opened.store.close())

const k = (text: string) => utf8(text)

class Client {
  readonly replies: LinkReply[] = []
  readonly clientConnection: ClientConnection
  #id = 0

  constructor(rights: readonly Right[] = RIGHTS, identity: Identity = { ...ANONYMOUS, rights }) {
    const member = opened.current as NonNullable<OpenedMember['current']>
    this.clientConnection = member.clientConnection(
      (reply) => this.replies.push(reply),
      identity,
      'websocket',
    )
  }

  /** The answer, decoded. */
  async ask(request: DistributedOmit<LinkRequest, 'id'>): Promise<readonly unknown[]> {
    const id = ++this.#id
    this.clientConnection.send({ ...request, id } as LinkRequest)
    await expect.poll(() => this.answer(id)).toBeDefined()
    return this.answer(id) as readonly unknown[]
  }

  answer(id: number): readonly unknown[] | undefined {
    const reply = this.replies.find((one) => one.kind === 'answer' && one.id === id)
    if (reply?.kind !== 'answer') return undefined
    return reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
  }

  async session(): Promise<number> {
    const body = encodeCommand([OP.openSession, 30_000])
    return (await this.ask({ kind: 'command', session: 0, number: 0, done: 0, body }))[1] as number
  }
}

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

const page = (view: number) => [READ.page, view, true, null, null, false, 1, 'both'] as const

test('R9: a view is read and closed by the client connection that opened it alone', async () => {
  const [mine, other] = [new Client(), new Client()]
  const [, [view]] = (await mine.ask({ kind: 'read', stale: false, read: page(0) })) as [0, [number]]
  expect(view).toBeGreaterThan(0)
  expect((await other.ask({ kind: 'read', stale: false, read: page(view) }))[0]).not.toBe(0)
  expect((await other.ask({ kind: 'read', stale: false, read: [READ.closeView, view] }))[0]).toBe(0)
  const [ok, [, rows]] = (await mine.ask({ kind: 'read', stale: false, read: page(view) })) as [
    0,
    [0, unknown[]],
  ]
  expect([ok, rows.length]).toEqual([0, 1])
})

// Without it: a connection that lives for months holds a number for each range that was ever read on it; or
// what it left open stays open, and the rows that were replaced since are kept on the disk.
test('C35: at its end a client connection closes the views that are open there, those under way too, and knows of no others', async () => {
  const { kv } = opened.current as NonNullable<OpenedMember['current']>
  const closed: number[][] = []
  const closeViews = kv.closeViews.bind(kv)
  const closing = vi.spyOn(kv, 'closeViews').mockImplementation((views) => {
    closed.push([...views])
    closeViews(views)
  })
  const client = new Client()
  const viewOf = async (view: number, limit = 1) => {
    const read = [READ.page, view, true, null, null, false, limit, 'both'] as const
    return ((await client.ask({ kind: 'read', stale: false, read }))[1] as [number])[0]
  }
  for (let i = 0; i < 2; i++) {
    const view = await viewOf(0)
    expect(await viewOf(view)).toBe(view)
    expect(await viewOf(view, 100)).toBe(0)
  }
  const given = await viewOf(0)
  await client.ask({ kind: 'read', stale: false, read: [READ.closeView, given] })
  const open = await viewOf(0)
  expect(open).toBeGreaterThan(given)
  client.clientConnection.send({ kind: 'read', id: 1_000, stale: true, read: page(0) })
  closed.length = 0
  client.clientConnection.close()
  expect(closed).toEqual([[open]])
  // What was under way when it ended opened another one, which is closed as it comes.
  await expect.poll(() => closed.length).toBe(2)
  expect(closed[1]).toEqual([open, open + 1])
  closing.mockRestore()
})

test("C42: a session is its opener's: another identity's commands are answered as if it had ended, and change nothing of it", async () => {
  const named = (name: string) => new Client(RIGHTS, { ...ANONYMOUS, name })
  const [mine, other, same] = [named('billing'), named('mail'), named('billing')]
  const session = await mine.session()
  const put = (client: Client, number: number, done: number) =>
    client.ask({
      kind: 'command',
      session,
      number,
      done,
      body: encodeCommand([OP.put, null, utf8('a'), utf8(String(number))]),
    })
  expect((await put(mine, 1, 0))[0]).toBe(0)
  expect((await put(other, 2, 1_000))[0]).toBe(SESSION_OVER)
  for (const op of [OP.closeSession, OP.keepAlive])
    expect(
      (await other.ask({ kind: 'command', session, number: 0, done: 0, body: encodeCommand([op]) }))[0],
    ).toBe(SESSION_OVER)
  expect((await put(mine, 2, 1))[0]).toBe(0)
  expect((await put(same, 3, 2))[0]).toBe(0)
})

test('A13: a command over its budget is refused at the door, and never reaches the log', async () => {
  const client = new Client()
  const session = await client.session()
  const { node } = (opened.current as NonNullable<OpenedMember['current']>).replica
  const range = [STEP.deleteRange, utf8('0'), utf8('1')] as const
  const body = encodeCommand([OP.batch, null, Array.from({ length: 1_500 }, () => range)])
  const before = node.raft.lastIndex
  const [, message] = await client.ask({ kind: 'command', session, number: 1, done: 1, body })
  expect(message).toMatch(/1500 deleteRange steps; one call may have 128.*Split it/)
  expect(client.replies.at(-1)).toMatchObject({ kind: 'answer', never: true })
  const keys = Array.from({ length: 4_097 }, () => utf8('k'))
  const read = await client.ask({ kind: 'read', stale: false, read: [READ.multiGet, keys] })
  expect(read[1]).toMatch(/4097 keys; one call may ask for 4096/)
  expect(node.raft.lastIndex - before).toBeLessThan(3)
  await client.ask({
    kind: 'command',
    session,
    number: 1,
    done: 1,
    body: encodeCommand([OP.put, null, utf8('k'), utf8('v')]),
  })
  expect(node.raft.lastIndex).toBeGreaterThan(before)
})

test('a watch whose number is given again ends: none is left behind', async () => {
  const client = new Client()
  for (let i = 0; i < 20; i++)
    client.clientConnection.send({ kind: 'watch', id: 7, start: null, end: null, from: 1 })
  const told = () => client.replies.filter(({ kind }) => kind === 'events').length
  await client.ask({ kind: 'read', stale: false, read: [READ.revision] })
  client.clientConnection.send({ kind: 'watch', id: 7, start: null, end: null, from: 1 })
  await client.ask({ kind: 'read', stale: false, read: [READ.revision] })
  client.clientConnection.send({ kind: 'watchMore', id: 7, events: 100 })
  await expect.poll(told).toBe(1)
  client.clientConnection.send({ kind: 'watchEnd', id: 7 })
  await opened.store.put('d', 'v')
  await client.ask({ kind: 'read', stale: false, read: [READ.revision] })
  expect(told()).toBe(1)
})

test('naming a session takes no grants away from its owner, and needs the right to write', async () => {
  const [owner, thief, reader] = [new Client(), new Client(), new Client(['read'])]
  const session = await owner.session()
  for (const client of [owner, thief, reader]) client.clientConnection.send({ kind: 'attach', session })
  const key = utf8('l')
  const hold = await opened.store.locks.acquire('l', { lease: '10s', renew: false })
  const body = encodeCommand([OP.tryLock, key, null, false, 'w', 10_000, 0, null, 0])
  await owner.ask({ kind: 'command', session, number: 1, done: 1, body })
  await hold.release()
  await expect.poll(() => owner.replies.some(({ kind }) => kind === 'granted')).toBe(true)
  expect(reader.replies.some(({ kind }) => kind === 'granted')).toBe(false)
})

test('CT5: a kept answer carries no time, the first one does', async () => {
  const client = new Client()
  const session = await client.session()
  const body = encodeCommand([OP.put, null, utf8('k'), utf8('v')])
  const request = { kind: 'command', session, number: 1, done: 1, body } as const
  await client.ask(request)
  await client.ask(request)
  const times = client.replies.flatMap((reply) => (reply.kind === 'answer' ? [reply.time] : []))
  expect(times[1]).toBeGreaterThan(0)
  expect(times[2]).toBe(0)
})

test('each kind of request asks for its right', async () => {
  const body = encodeCommand([OP.openSession, 30_000])
  const command = { kind: 'command', session: 0, number: 0, done: 0, body } as const
  const read = { kind: 'read', stale: true, read: [READ.revision] } as const
  const admin = { kind: 'admin', call: 'snapshot', args: [] } as const
  const allowed = async (rights: Right[]) => {
    const client = new Client(rights)
    const answers = [await client.ask(command), await client.ask(read), await client.ask(admin)]
    client.clientConnection.send({ kind: 'watch', id: 99, start: null, end: null, from: 1 })
    await client.ask({ kind: 'read', stale: true, read: [READ.revision] })
    return [...answers.map(([code]) => code === 0), !client.replies.some(({ kind }) => kind === 'watchOver')]
  }
  expect(await allowed(['read'])).toEqual([false, true, false, true])
  expect(await allowed(['write'])).toEqual([true, false, false, false])
  expect(await allowed(['admin'])).toEqual([false, false, true, false])
})

test('C24: who has no right to read is told holders of locks without their contexts, and no value by a write', async () => {
  const [holder, writer, both] = [new Client(), new Client(['write']), new Client(['read', 'write'])]
  const lock = async (client: Client, session: number, id: string, number: number, context: string | null) =>
    client.ask({
      kind: 'command',
      session,
      number,
      done: 0,
      body: encodeCommand([OP.tryLock, k('l'), null, false, id, 60_000, 0, context, null]),
    })
  const held = await holder.session()
  await lock(holder, held, 'me', 1, 'a secret')
  const contextIn = ([, result]: readonly unknown[]) => (result as [readonly unknown[]])[0][5]
  const [ofBoth, ofWriter] = [await both.session(), await writer.session()]
  expect(contextIn(await lock(both, ofBoth, 'you', 1, null))).toBe('a secret')
  const refused = await lock(writer, ofWriter, 'you', 1, null)
  expect((refused[1] as [readonly unknown[]])[0][0]).toBe('me')
  expect(contextIn(refused)).toBeNull()
  // Nor by calling itself the holder, whose id it was just told.
  expect(contextIn(await lock(writer, ofWriter, 'me', 2, null))).toBeNull()
  // Nor by a write under another token, whose refusal names the holder.
  const fenced = encodeCommand([OP.putAll, [k('l'), 99], [[k('a'), k('v')]]])
  const holderIn = async (client: Client, session: number) =>
    (
      (await client.ask({ kind: 'command', session, number: 3, done: 0, body: fenced }))[4] as unknown[]
    ).slice(0, 2)
  expect(await holderIn(both, ofBoth)).toEqual(['me', 'a secret'])
  expect(await holderIn(writer, ofWriter)).toEqual(['me', null])
  const ticket = { kind: 'read', stale: true, read: [READ.ticket, k('l'), 'me'] } as const
  expect(JSON.stringify(await writer.ask(ticket))).not.toContain('secret')
  const release = encodeCommand([OP.release, k('l'), 'me', 0, false])
  const released = await writer.ask({ kind: 'command', session: ofWriter, number: 4, done: 0, body: release })
  expect(released[0]).toBe(0)
  expect(JSON.stringify(released)).not.toContain('secret')
  const body = encodeCommand([OP.getAndPut, null, k('a'), k('w')])
  const swapped = await writer.ask({ kind: 'command', session: ofWriter, number: 5, done: 0, body })
  expect(swapped[0]).not.toBe(0)
  expect((await both.ask({ kind: 'command', session: ofBoth, number: 4, done: 0, body }))[0]).toBe(0)
})

test('a grant is pushed without its context to who may not read, and not at all where its lock is not allowed', () => {
  const owner = ['me', 1, 1, 1, 1, 'a secret', 0, 0] as const
  const push = (identity: Partial<Identity>) => {
    const client = new Client([], { ...ANONYMOUS, ...identity })
    client.clientConnection.granted(k('l'), owner)
    return client.replies.filter(({ kind }) => kind === 'granted')
  }
  expect(push({})).toMatchObject([{ owner }])
  expect(push({ rights: ['write'] })).toMatchObject([{ owner: ['me', 1, 1, 1, 1, null, 0, 0] }])
  expect(push({ locks: [k('m')] })).toEqual([])
})

test('a client connection names one session at a time, and leaves nothing behind', () => {
  const sessionAttachments = new SessionAttachments<string>()
  for (let session = 1; session < 1_000; session++) sessionAttachments.attach(session, 'x')
  sessionAttachments.attach(999, 'y')
  expect(sessionAttachments.sessions).toBe(1)
  expect([...sessionAttachments.of(999)]).toEqual(['x', 'y'])
  sessionAttachments.leave('x')
  sessionAttachments.leave('x')
  expect([...sessionAttachments.of(999)]).toEqual(['y'])
  sessionAttachments.leave('y')
  expect(sessionAttachments.sessions).toBe(0)
})

test('C35: whoever scans and watches on several connections is counted as one, by the name of its token', async () => {
  const greedy = { ...ANONYMOUS, name: 'greedy' }
  const answers: readonly unknown[][] = []
  for (let i = 0; i < 140; i++) {
    const answer = await new Client(RIGHTS, greedy).ask({ kind: 'read', stale: true, read: page(0) })
    ;(answers as unknown[][]).push(answer as unknown[])
  }
  expect(answers.filter(([code]) => code === 0)).toHaveLength(128)
  expect(answers[139]?.[0]).toBe(1 + ERROR_CODES.indexOf('ERR_BUSY'))
  const modest = await new Client(RIGHTS, { ...ANONYMOUS, name: 'modest' }).ask({
    kind: 'read',
    stale: true,
    read: page(0),
  })
  expect(modest[0]).toBe(0)
})

test('C25: who opened a session is what the member says, not what the client does; no command of a client ends one', async () => {
  const client = new Client(['read', 'write'], { ...ANONYMOUS, name: 'tester', rights: ['read', 'write'] })
  const open = encodeCommand([OP.openSession, 30_000, 'somebody else'])
  const [code, id] = await client.ask({ kind: 'command', session: 0, number: 0, done: 0, body: open })
  expect(code).toBe(0)
  const kv = (opened.current as NonNullable<OpenedMember['current']>).kv
  expect(kv.openSessions.list().find(([session]) => session === id)?.[1]).toBe('tester')
  const end = encodeCommand([OP.endSession, id as number])
  const ended = await client.ask({ kind: 'command', session: 0, number: 0, done: 0, body: end })
  expect(ended[0]).toBe(1 + ERROR_CODES.indexOf('ERR_FORBIDDEN'))
  for (const call of ['sessions.list', 'sessions.end'] as const)
    expect((await client.ask({ kind: 'admin', call, args: [id] }))[0]).toBe(
      1 + ERROR_CODES.indexOf('ERR_FORBIDDEN'),
    )
  expect(kv.openSessions.list().some(([session]) => session === id)).toBe(true)
})

test('C7: what one turn asks for goes out as it grows, and ends when nobody reads it', () => {
  const later: (() => void)[] = []
  let waiting = 0
  let overflows = 0
  const outbox = new Outbox({
    write: (frame) => {
      waiting += frame.length
    },
    wrote: () => {
      const isOver = waiting > 64 * 1024 * 1024
      if (isOver) overflows++
      return !isOver
    },
    defer: (run) => later.push(run),
  })
  const value = new Uint8Array(1024 * 1024)
  const tell = (id: number) => outbox.tell({ kind: 'answer', id, time: 0, never: false, answer: [0, value] })
  for (let id = 0; id < 500; id++) tell(id)
  for (const run of later) run()
  expect(overflows).toBe(1)
  expect(waiting).toBeLessThan(70 * 1024 * 1024)
})

test('C27: a command that no record of the log has room for is refused where it comes in, and the member lives', async () => {
  const client = new Client()
  const session = await client.session()
  const body = encodeCommand([OP.put, null, k('a'), k('v')])
  const wide = 2 ** 48
  for (const command of [
    { session: wide, number: 1, done: 0 },
    { session, number: wide, done: 0 },
    { session, number: 1, done: 2 ** 53 - 1 },
  ])
    expect((await client.ask({ kind: 'command', ...command, body }))[1]).toContain(
      'the largest number in a record',
    )
  expect((await client.ask({ kind: 'command', session, number: 1, done: 0, body }))[0]).toBe(0)
})
