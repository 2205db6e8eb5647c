// Test: `latchkey semaphore`, `latchkey elect` and `latchkey locks` with a simulated store: what they ask for,
// and what they print.

import { utf8 } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { fakeIo, NO_PARTS } from '../../test/fake-io.js'
import type { CommandStore } from './command-io-interface.js'
import { main } from './main.js'

const TRUE = ['--', process.execPath, '-e', '']
const hold = { token: 7, signal: new AbortController().signal, kv: {}, release: async () => {} }

type Answer = object | undefined | Error

/** Each call of the store is noted, and answered by its name. */
async function run(args: string[], answers: Record<string, Answer>) {
  const asked: unknown[] = []
  const call =
    (name: string) =>
    async (...given: unknown[]) => {
      const plain = given.map((one) => {
        const { signal: _, ...rest } = Object(one) as { signal?: unknown }
        return typeof one === 'object' ? rest : one
      })
      asked.push([name, ...plain])
      const answer = answers[name]
      if (answer instanceof Error) throw answer
      return answer
    }
  const names = (part: string, ...all: string[]) =>
    Object.fromEntries(all.map((name) => [name, call(`${part}.${name}`)]))
  const store = {
    semaphores: names('semaphores', 'acquire', 'tryAcquire'),
    elections: names('elections', 'campaign', 'leader'),
    locks: names('locks', 'query', 'history'),
    latches: names('latches', 'query'),
    barriers: names('barriers', 'query'),
    status: async () => ({ leader: 'a' }),
    close: async () => {},
  } as unknown as CommandStore
  const io = fakeIo({ env: { PATH: process.env.PATH ?? '' }, connect: () => store })
  const code = await main(args, io, NO_PARTS)
  return { code, asked, ...io.printed }
}

const timeout = new LatchkeyError('ERR_TIMEOUT')

test('semaphore: it asks for its permits, and says how many were not free', async () => {
  const one = await run(['semaphore', 's', '--of', '5', ...TRUE], { 'semaphores.acquire': hold })
  expect([one.code, one.err]).toEqual([0, ''])
  expect(one.asked).toMatchObject([
    ['semaphores.acquire', 's', { of: 5, permits: 1, context: 'host7 pid 4711', wait: undefined }],
  ])
  const three = ['semaphore', 's', '--of', '5', '--permits', '3', '--context', 'job', '--lease', '20s']
  const late = await run([...three, '--wait', '2s', ...TRUE], { 'semaphores.acquire': timeout })
  expect(late.asked).toMatchObject([
    ['semaphores.acquire', 's', { of: 5, permits: 3, context: 'job', lease: 20_000, wait: 2_000 }],
  ])
  expect([late.code, late.err]).toEqual([
    75,
    'latchkey: 3 of 5 permits of "s" were not free within 2000 ms\n',
  ])
  const now = await run([...three, '--wait', '0', ...TRUE], {})
  expect(now.asked).toMatchObject([['semaphores.tryAcquire', 's', { of: 5, permits: 3 }]])
  expect([now.code, now.err]).toEqual([75, 'latchkey: 3 of 5 permits of "s" were not free\n'])
})

test('semaphore: --of is needed, and --permits must not exceed it', async () => {
  const none = await run(['semaphore', 's', ...TRUE], {})
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('--of is missing')])
  const many = await run(['semaphore', 's', '--of', '2', '--permits', '3', ...TRUE], {})
  expect([many.code, many.err]).toEqual([2, expect.stringContaining('at most --of, which is 2; got 3')])
  const all = await run(['semaphore', 's', '--of', '2', '--permits', '2', ...TRUE], {
    'semaphores.acquire': hold,
  })
  expect(all.code).toBe(0)
})

test('elect: it campaigns with its value, and otherwise names the leader', async () => {
  const won = await run(['elect', 'e', '--value', 'here', ...TRUE], { 'elections.campaign': hold })
  expect([won.code, won.err]).toEqual([0, ''])
  expect(won.asked).toMatchObject([['elections.campaign', 'e', { value: 'here', wait: undefined }]])
  const lost = await run(['elect', 'e', '--wait', '0', ...TRUE], {
    'elections.campaign': timeout,
    'elections.leader': { value: 'there\u001b' },
  })
  expect(lost.asked).toMatchObject([
    ['elections.campaign', 'e', { wait: 1 }],
    ['elections.leader', 'e'],
  ])
  expect([lost.code, lost.err]).toEqual([75, 'latchkey: another leads "e": "there\\u001b"\n'])
  for (const leader of [undefined, {}, new Error('away')]) {
    const answers = { 'elections.campaign': timeout, 'elections.leader': leader }
    expect((await run(['elect', 'e', '--wait', '3s', ...TRUE], answers)).err).toBe(
      'latchkey: another leads "e"\n',
    )
  }
})

const LOCK = {
  key: utf8('orders/42'),
  id: 'h1',
  mode: 'exclusive',
  context: utf8('host7'),
  fencingToken: 9,
  acquires: 1,
  sinceMillis: 1_500,
  remainingMillis: 28_500,
  waiters: 2,
}
const QUEUE = [
  { id: 'w1', mode: 'exclusive', context: utf8('job'), waitedMillis: 700 },
  { id: 'w2', mode: 'shared', permits: 2, waitedMillis: 600 },
]
const LISTS = {
  'locks.query': [
    { ...LOCK, queue: QUEUE },
    { ...LOCK, key: Uint8Array.of(0xff), kind: 'semaphore', permits: 1, context: undefined, waiters: 0 },
  ],
  'latches.query': [
    { name: utf8('l'), count: 3, waiters: 1 },
    { name: utf8('open'), count: 0, waiters: 0 },
  ],
  'barriers.query': [{ name: utf8('b'), parties: 4, waiters: 2 }],
}

test('locks: a table of holds, waiters, latches and barriers', async () => {
  const { code, out, asked } = await run(['locks', 'o', '--queue'], LISTS)
  expect(code).toBe(0)
  expect(asked).toMatchObject([
    ['locks.query', 'o', { as: 'bytes', queue: true, kind: 'all' }],
    ['latches.query', 'o', { as: 'bytes' }],
    ['barriers.query', 'o', { as: 'bytes' }],
  ])
  expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['kind', 'key', 'mode', 'holder', 'context', 'token', 'held for', 'lease left', 'waiters'],
    ['lock', 'orders/42', 'exclusive', 'h1', 'host7', '9', '1.5 s', '28.5 s', '2'],
    ['', '1. waits', 'exclusive', 'w1', 'job', '0.7 s'],
    ['', '2. waits', '2 permits', 'w2', '-', '0.6 s'],
    ['semaphore', 'base64:/w==', '1 permit', 'h1', '-', '9', '1.5 s', '28.5 s', '0'],
    ['latch', 'l', '3 to count', '-', '-', '-', '-', '-', '1'],
    ['latch', 'open', 'open', '-', '-', '-', '-', '-', '0'],
    ['barrier', 'b', '2 of 4', '-', '-', '-', '-', '-', '2'],
    [''],
  ])
  const none = { 'locks.query': [], 'latches.query': [], 'barriers.query': [] }
  const empty = await run(['locks', ''], none)
  expect([empty.out, empty.asked[0]]).toEqual([
    'nothing is held\n',
    ['locks.query', undefined, expect.objectContaining({ queue: false })],
  ])
  const barrier = { ...none, 'barriers.query': LISTS['barriers.query'] }
  expect((await run(['locks'], barrier)).out).toMatch(/^kind .*\nbarrier +b +2 of 4 /)
})

test('locks --json: one line for each', async () => {
  const { out } = await run(['locks', '--json', '--queue'], LISTS)
  const [held, semaphore, latch, , barrier] = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(held).toMatchObject({ kind: 'lock', key: 'orders/42', context: 'host7', fencingToken: 9 })
  expect(held).toMatchObject({
    queue: [
      { id: 'w1', context: 'job' },
      { id: 'w2', permits: 2 },
    ],
  })
  expect(semaphore).toMatchObject({ kind: 'semaphore', keyBase64: '/w==', permits: 1 })
  expect(semaphore).not.toHaveProperty('queue')
  expect(latch).toEqual({ kind: 'latch', key: 'l', count: 3, waiters: 1 })
  expect(barrier).toEqual({ kind: 'barrier', key: 'b', parties: 4, waiters: 2 })
})
