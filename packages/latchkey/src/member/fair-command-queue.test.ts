// Test: large commands wait for their turn before the leader writes them into the log, and small commands do
// not wait. fair-command-queue.ts explains each law.

import { utf8 } from '@latchkey/base'
import type { KvStore } from '@latchkey/kv'
import { type Command, encodeCommand, OP } from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { CommandQueue } from './fair-command-queue.js'

const [a, b, m, z] = [utf8('a'), utf8('b'), utf8('m'), utf8('z')]
const PUT: Command = [OP.put, null, a, z]
const RENEW: Command = [OP.renew, [[a, 'id', 1, 1_000]]]
const KEEP: Command = [OP.keepAlive]
/** Its weight is the number of its keys. */
const large = (weight: number): Command => [
  OP.deleteAll,
  null,
  Array.from({ length: weight / 1_000 }, () => a),
]
const HALF = large(12_000)
const range = (start: Uint8Array, end: Uint8Array): Command => [OP.deleteRange, null, start, end]

const APPLIED: Outcome = { type: 'applied', answer: { bytes: a, fromTable: false }, time: 1 }

function opened(mostBytes = 1_000_000) {
  const surveys: (() => void)[] = []
  const kv = {
    survey: (body: Uint8Array) =>
      body[1] === OP.deleteRange ? new Promise<void>((resolve) => surveys.push(resolve)) : undefined,
    weigh: (command: Command) =>
      command[0] === OP.deleteAll ? command[2].length * 1_000 : command[0] === OP.openSession ? 2_500 : 500,
  } as unknown as KvStore
  const log: { name: string; done: (outcome: Outcome, ticket: number) => void }[] = []
  const names = new Map<number, string>()
  const told: string[] = []
  const submit: RaftNode['submit'] = (_, done, __, ticket) => {
    log.push({ name: names.get(ticket as number) as string, done })
  }
  const queue = new CommandQueue({ node: { submit }, kv, mostBytes })
  const send = (origin: string, command: Command, name: string, encode = encodeCommand) => {
    const ticket = names.size + 1
    names.set(ticket, name)
    const record = { session: 1, number: 1, done: 1, body: encode(command) }
    queue.submit(
      origin,
      record,
      (outcome, of) =>
        told.push(`${names.get(of)}: ${outcome.type === 'refused' ? outcome.reason : outcome.type}`),
      ticket,
      false,
    )
  }
  const inLog = () => log.map(({ name }) => name)
  /** The first one is applied. */
  const apply = () => log.shift()?.done(APPLIED, 0)
  const surveyed = async () => {
    surveys.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { queue, send, inLog, apply, surveyed, told }
}

test('A16: no more large work is in the log than can be applied in good time; a small command waits for nothing', () => {
  const { queue, send, inLog, apply, told } = opened()
  for (const name of ['one', 'two', 'three']) send('greedy', HALF, name)
  send('other', PUT, 'put')
  send('other', RENEW, 'renewal')
  expect(inLog()).toEqual(['one', 'put', 'renewal'])
  expect(queue.waiting).toBe(2)
  apply()
  expect(told).toEqual(['one: applied'])
  expect(inLog()).toEqual(['put', 'renewal', 'two'])
  // One that is larger than all that may be in the log goes alone.
  const { send: sendMore, inLog: more, apply: applyOne } = opened()
  sendMore('greedy', large(900_000), 'huge')
  sendMore('greedy', large(1_000), 'little')
  expect(more()).toEqual(['huge'])
  applyOne()
  expect(more()).toEqual(['little'])
})

/** Forms that MessagePack allows too, but that the encoder of this project never writes. */
const LONG_FORMS = {
  'the head of the list in three bytes': (command: Command) => {
    const bytes = encodeCommand(command)
    return Buffer.concat([Buffer.of(0xdc, 0, command.length), bytes.subarray(1)])
  },
  'the operation in two bytes': (command: Command) => {
    const bytes = encodeCommand(command)
    return Buffer.concat([bytes.subarray(0, 1), Buffer.of(0xcc), bytes.subarray(1)])
  },
}

test.each(Object.entries(LONG_FORMS))(
  'A16: a large command is large in every form in which a foreign client may send it: %s',
  (_, encode) => {
    const { send, inLog } = opened()
    for (const name of ['one', 'two', 'three']) send('greedy', HALF, name, encode)
    send('other', PUT, 'put')
    expect(inLog()).toEqual(['one', 'put'])
  },
)

test('A16: connections take turns: whoever had the least done goes first, however many commands another one has sent', () => {
  const { send, inLog, apply } = opened()
  for (let i = 0; i < 5; i++) send('greedy', HALF, `greedy ${i}`)
  send('modest', large(2_000), 'modest')
  send('other', HALF, 'other')
  const order: string[] = []
  while (inLog().length > 0) {
    order.push(...inLog().slice(0, 1))
    apply()
  }
  expect(order).toEqual(['greedy 0', 'modest', 'other', 'greedy 1', 'greedy 2', 'greedy 3', 'greedy 4'])
})

test('A16: a write waits behind the waiting writes of its connection; its locks and its session do not', () => {
  const { send, inLog, apply } = opened()
  send('one', HALF, 'first')
  send('one', HALF, 'second')
  send('one', PUT, 'put')
  send('one', RENEW, 'renewal')
  send('one', KEEP, 'keep alive')
  expect(inLog()).toEqual(['first', 'renewal', 'keep alive'])
  apply()
  expect(inLog()).toEqual(['renewal', 'keep alive', 'second', 'put'])
})

test('A15: what its connection writes waits behind a deleteRange that is added up; others do not', async () => {
  const { send, inLog, surveyed } = opened()
  send('one', PUT, 'before')
  send('one', range(a, z), 'range')
  send('one', PUT, 'behind')
  send('one', RENEW, 'renewal')
  send('two', PUT, 'other')
  expect(inLog()).toEqual(['before', 'renewal', 'other'])
  await surveyed()
  expect(inLog()).toEqual(['before', 'renewal', 'other', 'range', 'behind'])
  send('one', PUT, 'last')
  expect(inLog().at(-1)).toBe('last')
})

test('A16: a deleteRange waits until another one that meets its range is applied, and is added up then', async () => {
  const { send, inLog, apply, surveyed } = opened()
  send('one', range(a, m), 'first')
  send('two', range(b, z), 'meets it')
  send('three', range(m, z), 'beside it')
  await surveyed()
  await surveyed()
  expect(inLog()).toEqual(['first', 'beside it'])
  apply()
  await surveyed()
  expect(inLog()).toEqual(['beside it'])
  apply()
  await surveyed()
  expect(inLog()).toEqual(['meets it'])
})

test('A16: what waits is bounded for each connection, and refused as busy beyond', () => {
  const { queue, send, told } = opened(100_000)
  for (let i = 0; i < 200; i++) send('greedy', [OP.openSession, 1_000], `session ${i}`)
  expect(told.length).toBeGreaterThan(50)
  expect(new Set(told.map((one) => one.split(': ')[1]))).toEqual(new Set(['busy']))
  const before = queue.waiting
  send('modest', HALF, 'modest')
  expect(queue.waiting).toBe(before + 1)
})

test('A16: what waits of a connection that is gone is dropped, also while its range is added up; the others go on', async () => {
  const { queue, send, inLog, apply, surveyed, told } = opened()
  send('one', HALF, 'first')
  send('gone', HALF, 'dropped')
  send('gone', range(a, z), 'range')
  send('left', range(a, z), 'surveyed')
  queue.leave('gone')
  queue.leave('left')
  apply()
  await surveyed()
  send('two', range(a, z), 'other')
  await surveyed()
  expect(inLog()).toEqual(['other'])
  expect(queue.waiting).toBe(0)
  expect(told).toEqual(['first: applied'])
})
