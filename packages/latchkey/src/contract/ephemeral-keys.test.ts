// Test: docs/keys.md: an ephemeral key is deleted with its store or its session, and not with a member.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { sleep, take, unlessStalled, until } from './testing/small-test-functions.js'
import { openTrio, type Trio } from './testing/three-embedded-members.js'

const folder = tempFolders()
let three: Trio
beforeAll(async () => {
  three = await openTrio(folder())
})
afterAll(() => three.close())

const as = { as: 'string' } as const

test('A21: an ephemeral key is deleted when its store closes, and the watch names the reason', async () => {
  const [store, other] = [await three.connect(), await three.connect()]
  const watch = other.watch({ prefix: 'w/' }, as)
  // A write of the same store is applied after the watch has begun. A write of another store might come first.
  await other.put('begin', '')
  await store.putAll(
    [
      ['w/1', 'a'],
      ['w/2', 'b'],
    ],
    { ephemeral: true },
  )
  await store.put('w/3', 'stays')
  await store.close()
  const events = await take(watch, 5)
  expect(events.slice(3).map(({ type, reason, key }) => [type, reason, key])).toEqual([
    ['delete', 'session', 'w/1'],
    ['delete', 'session', 'w/2'],
  ])
  expect(await other.get('w/3', as)).toBe('stays')
  await watch.return?.()
  await other.close()
})

test('A21: it is deleted when an admin ends its session; keys that its store puts later belong to another session', async () => {
  const store = await three.connect()
  await store.batch([{ type: 'put', key: 'x', value: '1', ephemeral: true }])
  const mine = (await store.sessions.list()).at(-1)?.id as number
  expect(await store.sessions.end(mine)).toBe(true)
  await until(async () => !(await store.containsKey('x')))
  await store.put('x', '2', { ephemeral: true })
  await store.close()
  const other = await three.connect()
  await until(async () => !(await other.containsKey('x')))
  await other.close()
})

test('A21: a store that makes no calls for longer than its session lives keeps its keys while it is open', async () => {
  await unlessStalled(400, async () => {
    await using store = await three.connect({ sessionLife: '1s' })
    await store.put('kept', '1', { ephemeral: true })
    await sleep(2_500)
    expect(await store.containsKey('kept')).toBe(true)
  })
})

test('A21: closing the embedded store of a follower deletes its keys; a change of leader deletes none', async () => {
  const other = await three.connect()
  const follower = await three.follower()
  await follower.put('embedded', '1', { ephemeral: true })
  await other.put('remote', '1', { ephemeral: true })
  await (await three.leader()).transferLeadership()
  expect(await other.containsKey('embedded')).toBe(true)
  await follower.close()
  await until(async () => !(await other.containsKey('embedded')))
  expect(await other.containsKey('remote')).toBe(true)
  await other.close()
})
