// Test: the key-value calls: their requests, their results, and the errors of wrong arguments.

import { EMPTY, text, utf8 } from '@latchkey/base'
import { type As, type Command, LatchkeyError, OP, READ, type Read, decodeCommand } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { CallOptions } from '../engine/call.js'
import type { Engine } from '../engine/engine.js'
import { type HoldGuard, TypedKeyValues } from './key-value-calls.js'

type Convert = (result: unknown) => unknown

/** Answers each operation with a result of the right type, and records the requests. */
function pendingCalls(results: Record<number, unknown> = {}) {
  const commands: Command[] = []
  const reads: { read: Read; stale: boolean; options: CallOptions }[] = []
  const engine = {
    pass: () => {},
    command: async (body: Uint8Array, _: CallOptions, convert: Convert) => {
      const command = decodeCommand(body) as Command
      commands.push(command)
      return convert(results[command[0]])
    },
    read: async (read: Read, stale: boolean, options: CallOptions, convert: Convert) => {
      reads.push({ read, stale, options })
      return convert(results[read[0]])
    },
  } as unknown as Engine
  const kv = (as: As = 'bytes', hold?: HoldGuard) =>
    new TypedKeyValues<As>(engine, { as, onUndecodable: 'error', prefix: EMPTY }, hold)
  return { commands, reads, kv }
}

const bytes = utf8
const ENTRY = [3, 5, 2, bytes('{"a":1}')] as const

test('reads return Uint8Arrays, strings or parsed JSON, and undefined for a missing key', async () => {
  const source = bytes('{"a":1}')
  const { kv } = pendingCalls({
    [READ.get]: source,
    [READ.getEntry]: [9, ENTRY],
    [READ.multiGet]: [source, null],
    [READ.contains]: true,
  })
  const value = (await kv().get('k')) as Uint8Array
  expect(Object.getPrototypeOf(value)).toBe(Uint8Array.prototype)
  value.fill(0)
  expect(text(source)).toBe('{"a":1}')
  expect(await kv().get('k', { as: 'string' })).toBe('{"a":1}')
  expect(await kv('json').get('k')).toEqual({ a: 1 })
  expect(await kv('json').get('k', { as: 'string' })).toBe('{"a":1}')
  expect(await kv('string').getEntry('k')).toEqual({
    value: '{"a":1}',
    createRevision: 3,
    modRevision: 5,
    version: 2,
    revision: 9,
  })
  expect(await kv('json').multiGet(['a', 'b'])).toEqual([{ a: 1 }, undefined])
  expect(await kv().containsKey('k')).toBe(true)
  const none = pendingCalls({ [READ.get]: null, [READ.getEntry]: null })
  expect([await none.kv().get('k'), await none.kv().getEntry('k')]).toEqual([undefined, undefined])
})

test('R11: reads are linearizable unless `stale` is given', async () => {
  const { kv, reads } = pendingCalls({ [READ.get]: null })
  await kv().get('k')
  await kv().get('k', { consistency: 'linearizable' })
  await kv().get('k', { consistency: 'stale' })
  expect(reads.map(({ stale }) => stale)).toEqual([false, false, true])
})

test('writes resolve to the results that docs/api.md names', async () => {
  const { kv } = pendingCalls({
    [OP.put]: 7,
    [OP.putAll]: 8,
    [OP.putIfAbsent]: null,
    [OP.getAndPut]: bytes('old'),
    [OP.compareAndPutAll]: true,
    [OP.merge]: 9,
    [OP.increment]: [-5, 9],
    [OP.touch]: true,
    [OP.deleteAll]: 2,
    [OP.deleteRange]: 3,
    [OP.batch]: [10, [true, true, 1, 4]],
    [OP.txn]: [true, 11, [true, 1, ENTRY, null]],
    [OP.nextSequence]: [0, 5],
    [OP.resetSequence]: true,
    [READ.sequence]: 5,
  })
  const store = kv('string')
  expect(await store.put('k', 'v')).toEqual({ revision: 7 })
  expect(await store.putAll([['k', 'v']])).toEqual({ revision: 8 })
  expect(await store.putIfAbsent('k', 'v')).toBe(undefined)
  expect(await store.getAndPut('k', 'v')).toBe('old')
  expect(await store.compareAndPut('k', undefined, 'v')).toBe(true)
  expect(await store.compareAndPutAll([{ key: 'k', update: 'v' }])).toBe(true)
  expect(await store.merge('k', 'v')).toEqual({ revision: 9 })
  expect(await store.touch('k', '5s')).toBe(true)
  expect(await store.increment('k', -2)).toEqual({ value: -5, revision: 9 })
  expect(await store.delete('k')).toBe(2)
  expect(await store.deleteAll(['a', 'b'])).toBe(2)
  expect(await store.deleteRange('a', 'b')).toBe(3)
  expect(await store.batch([])).toEqual({ revision: 10, results: [true, true, 1, 4] })
  const entry = { value: '{"a":1}', createRevision: 3, modRevision: 5, version: 2 }
  const get = { type: 'get', key: 'k' } as const
  const then = [
    { type: 'put', key: 'k', value: 'v' } as const,
    { type: 'delete', key: 'k' } as const,
    get,
    get,
  ]
  expect(await store.txn({ then })).toEqual({
    succeeded: true,
    results: [true, 1, entry, undefined],
    revision: 11,
  })
  expect(await store.getSequence('k', 5)).toEqual({ start: 0, end: 5 })
  expect(await store.getLatestSequence('k')).toBe(5)
  expect(await store.resetSequence('k')).toBe(undefined)
})

test('arguments are copied at the call', async () => {
  const { kv, commands, reads } = pendingCalls({ [OP.put]: 1, [READ.get]: null })
  const [key, value] = [bytes('key'), bytes('value')]
  const put = kv().put(key, value)
  const get = kv().get(key)
  key.fill(0)
  value.fill(0)
  await Promise.all([put, get])
  expect(commands[0]).toMatchObject([OP.put, null, bytes('key'), bytes('value')])
  expect(text(reads[0]?.read[1] as Uint8Array)).toBe('key')
})

test('a mistake rejects; only iterators and watches throw at the call', async () => {
  const store = pendingCalls().kv()
  const rejected = [
    store.get(''),
    store.put('k', 5 as unknown as string),
    store.put('k', 'v', { timeout: Number.POSITIVE_INFINITY }),
    store.get('k', { as: 'xml' as 'json' }),
    store.increment('k', 1.5),
    store.increment('k', '1' as unknown as number),
    store.scan({ gte: 'a', gt: 'b' }),
    store.multiGet(5 as unknown as string[]),
    store.getAndPut('k', 'v', { as: 'xml' as 'json' } as object),
    store.multiGet([], { timeout: -1 }),
  ]
  for (const promise of rejected) await expect(promise).rejects.toBeInstanceOf(TypeError)
  expect(() => store.entries({ gte: 'a', gt: 'b' })).toThrow(TypeError)
  expect(() => store.keys({ limit: -1 })).toThrow(TypeError)
  expect(() => store.values({}, { as: 'xml' as 'json' })).toThrow(TypeError)
  expect(() => store.watch({})).toThrow(TypeError)
  await expect(store.put('k', 'v'.repeat(1024 * 1024 + 1))).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' })
  const many = Array.from({ length: 5 }, (_, at) => ({ key: `${at}`, value: new Uint8Array(1024 * 1024) }))
  await expect(store.putAll(many)).rejects.toMatchObject({ code: 'ERR_TOO_LARGE', outcome: 'not-applied' })
})

test('A13: a command over its budget is refused before any part of it is sent', async () => {
  const { kv, commands, reads } = pendingCalls({ [OP.putAll]: 1 })
  const store = kv()
  const keys = Array.from({ length: 20_001 }, (_, at) => `${at}`)
  const tooLarge = { code: 'ERR_TOO_LARGE', outcome: 'not-applied', retryable: false }
  const range = { type: 'deleteRange', start: 'a', end: 'b' } as const
  await expect(store.putAll(keys.map((key) => [key, ''] as const))).rejects.toMatchObject(tooLarge)
  await expect(store.deleteAll(keys)).rejects.toThrow(/20001 keys.*one call may touch 20000 rows.*Split it/)
  await expect(store.batch(keys.slice(0, 129).map(() => range))).rejects.toThrow(/129 deleteRange steps/)
  await expect(store.multiGet(keys.slice(0, 4_097))).rejects.toMatchObject(tooLarge)
  expect([commands, reads]).toEqual([[], []])
  await store.putAll(keys.slice(1).map((key) => [key, ''] as const))
  expect(commands.length).toBe(1)
})

test('the errors for a stored value that is no JSON, and for a malformed answer', async () => {
  const { kv } = pendingCalls({ [READ.get]: bytes('{'), [OP.put]: 'x', [OP.batch]: [1] })
  await expect(kv().get('k', { as: 'json' })).rejects.toMatchObject({ code: 'ERR_UNDECODABLE', key: 'k' })
  await expect(kv().put('k', 'v')).rejects.toMatchObject({ code: 'ERR_PROTOCOL' })
  await expect(kv().batch([])).rejects.toBeInstanceOf(LatchkeyError)
})

test('writes of a hold carry its guard and reads do not; no request is sent for a hold that is known to be lost', async () => {
  const { kv, commands, reads } = pendingCalls({ [OP.put]: 1, [READ.get]: null, [OP.txn]: [true, 1, []] })
  let lost = false
  const store = kv('bytes', { guard: () => [utf8('lock'), 7], knownLost: () => lost })
  await store.put('k', 'v')
  await store.put('k', 'v', { guard: { key: 'other', token: 1 } })
  await store.txn({})
  for (const command of commands) expect(command[1]).toEqual([bytes('lock'), 7])
  lost = true
  await expect(store.put('k', 'v')).rejects.toMatchObject({ code: 'ERR_FENCED', outcome: 'not-applied' })
  await store.get('k')
  expect([commands.length, reads.length]).toEqual([3, 1])
  await expect(store.put('', 'v')).rejects.toBeInstanceOf(TypeError)
})
