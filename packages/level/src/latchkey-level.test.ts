// Test: the promises of a database over a store that abstract-level's own suite does not cover.

import type { KeyValueCalls } from '@latchkey/protocol'
import { beforeEach, expect, test } from 'vitest'
import { LatchkeyLevel } from './latchkey-level.js'
import { MemoryStore } from './testing/memory-store.js'

let memory: MemoryStore
const open = (prefix: string | Uint8Array) =>
  new LatchkeyLevel(memory as unknown as KeyValueCalls, { prefix })
beforeEach(() => {
  memory = new MemoryStore()
})

test('databases under different prefixes do not see each other, nor what lies beside them', async () => {
  await memory.put('users', 'beside')
  await memory.put('users0', 'beside')
  const users = open('users/')
  const other = open('users/x/')
  await users.put('a', '1')
  await other.put('a', '2')
  await other.clear()
  expect(await users.keys().all()).toEqual(['a'])
  await users.clear()
  expect([...memory.data.keys()].sort()).toEqual(['users', 'users0'])
})

test('a batch is one call of the store: all or nothing', async () => {
  const db = open('p/')
  const calls: unknown[] = []
  const batch = memory.batch.bind(memory)
  memory.batch = (ops) => {
    calls.push(ops.length)
    return batch(ops)
  }
  await db.batch([
    { type: 'put', key: 'a', value: '1' },
    { type: 'put', key: 'b', value: '2' },
    { type: 'del', key: 'a' },
  ])
  await db.batch().put('c', '3').del('b').write()
  expect(calls).toEqual([3, 2])
  expect(await db.iterator().all()).toEqual([['c', '3']])
})

test('clear with a limit and in reverse', async () => {
  const db = open('p/')
  for (let at = 0; at < 2_500; at++) await db.put(String(at).padStart(4, '0'), '')
  await db.clear({ limit: 2_000 })
  expect((await db.keys().all()).length).toBe(500)
  await db.clear({ limit: 499, reverse: true })
  expect(await db.keys().all()).toEqual(['2000'])
})

test('closing a database does not close the store', async () => {
  const db = open('p/')
  await db.put('a', '1')
  await db.close()
  await db.open()
  expect(await db.get('a')).toBe('1')
})

test.each([[''], [undefined], [5], [new Uint8Array([0xff])]])('prefix %j is a TypeError', (prefix) => {
  expect(() => open(prefix as string)).toThrow(TypeError)
})

test('binary keys, and a prefix of bytes', async () => {
  const db = open(Uint8Array.of(0, 0xff))
  await db.put(Uint8Array.of(0xff), Uint8Array.of(1), { keyEncoding: 'view', valueEncoding: 'view' })
  expect(await db.get(Uint8Array.of(0xff), { keyEncoding: 'view', valueEncoding: 'view' })).toEqual(
    Uint8Array.of(1),
  )
  expect(await db.keys({ keyEncoding: 'view' }).all()).toEqual([Uint8Array.of(0xff)])
})
