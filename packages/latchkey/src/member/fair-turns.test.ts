// Test: many large commands of one client, or many new sessions, do not delay small commands of another
// client. The test compares the order of answers, because times say little on a busy machine.

import type { LinkReply } from '@latchkey/client'
import { utf8 } from '@latchkey/base'
import { type Command, decodeAnswer, encodeCommand, ERROR_CODES, OP } from '@latchkey/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { OpenedMember } from '../open/open-member.js'
import { checkOptions } from '../open/options.js'
import { ANONYMOUS } from './identity-and-rights.js'
import type { ClientConnection } from './client-connection.js'

let opened: OpenedMember
beforeEach(async () => {
  opened = await OpenedMember.open(
    checkOptions({ id: 'a', memory: true, electionTimeout: 500, heartbeat: 50 }),
  )
  await opened.store.ready()
})
afterEach(() => opened.store.close())

const BUSY = 1 + ERROR_CODES.indexOf('ERR_BUSY')

/** Its answers' codes, in their order. */
class Client {
  readonly codes: number[] = []
  #asked = 0
  readonly #clientConnection: ClientConnection
  readonly #told: () => void

  constructor(told: () => void = () => {}) {
    this.#told = told
    const member = opened.current as NonNullable<OpenedMember['current']>
    this.#clientConnection = member.clientConnection((reply) => this.#hear(reply), ANONYMOUS, 'websocket')
  }

  last: readonly unknown[] = []

  #hear(reply: LinkReply): void {
    if (reply.kind !== 'answer') return
    this.last = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
    this.codes.push(this.last[0] as number)
    this.#told()
  }

  ask(command: Command, session = 0): void {
    const id = ++this.#asked
    const number = session === 0 ? 0 : id
    this.#clientConnection.send({
      kind: 'command',
      id,
      session,
      number,
      done: number,
      body: encodeCommand(command),
    })
  }

  async all(): Promise<readonly number[]> {
    await expect.poll(() => this.codes.length, { timeout: 60_000 }).toBe(this.#asked)
    return this.codes
  }

  async session(): Promise<number> {
    this.ask([OP.openSession, 60_000])
    await this.all()
    return this.last[1] as number
  }
}

const put = (i: number): Command => [OP.put, null, utf8(`small ${i}`), utf8('v')]

test('A16: a put is answered before ten large writes of another client that were sent before it', {
  timeout: 90_000,
}, async () => {
  let largeBefore = -1
  const greedy = new Client()
  const modest = new Client(() => {
    largeBefore = greedy.codes.length - 1
  })
  const [ofGreedy, ofModest] = [await greedy.session(), await modest.session()]
  const rows = Array.from({ length: 20_000 }, (_, i) => [utf8(`k${i}`), utf8('v')] as const)
  for (let i = 0; i < 10; i++) greedy.ask([OP.putAll, null, rows], ofGreedy)
  modest.ask(put(1), ofModest)
  await modest.all()
  expect(largeBefore).toBeLessThan(4)
  expect(await greedy.all()).toEqual(Array.from({ length: 11 }, () => 0))
})

test('A17: of a burst of 7,000 openSession on one connection a few are opened, the others are refused at once; a put of another client goes on', {
  timeout: 90_000,
}, async () => {
  let openedBefore = -1
  const greedy = new Client()
  const modest = new Client(() => {
    openedBefore = greedy.codes.filter((code) => code === 0).length
  })
  const session = await modest.session()
  const { node } = (opened.current as NonNullable<OpenedMember['current']>).replica
  const before = node.raft.lastIndex
  for (let i = 0; i < 7_000; i++) greedy.ask([OP.openSession, 60_000])
  modest.ask(put(1), session)
  await modest.all()
  expect(openedBefore).toBeLessThan(20)
  const codes = await greedy.all()
  expect(codes.filter((code) => code === 0).length).toBeLessThanOrEqual(64)
  expect(new Set(codes)).toEqual(new Set([0, BUSY]))
  expect(node.raft.lastIndex - before).toBeLessThan(100)
})
