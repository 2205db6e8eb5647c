// Driver: tests of single calls of a lock engine. The lock objects make these calls rarely or never. The tests
// pass on each engine.

import assert from 'node:assert/strict'
import { newId, utf8 } from '@latchkey/base'
import type { LockEngine, TakeRequest } from '@latchkey/lock'
import type { SuiteTest } from './suite-types.js'

/** In ms, the first lease of each hold. No lease ends during a test, also on a slow machine. */
const LEASE = 3_600_000

/** Registers the tests. The tests do not close the engine. */
export function engineCallTests(test: SuiteTest, engine: LockEngine): void {
  test('EN3: a shorter lease never shortens a hold, and a longer lease lengthens it', () => deadlines(engine))
  test('EN4: a take whose time is over is LATE, and leaves neither a hold nor a place', () => late(engine))
  test('EN5: a caller that is cancelled leaves the queue, and the next waiter is first', () =>
    cancelled(engine))
  test('keys and contexts of any bytes come back as they were given', () => anyBytes(engine))
}

const requestFor = (key: Uint8Array): TakeRequest => ({
  key,
  id: newId(),
  lease: LEASE,
  context: null,
  queues: true,
  patience: 60_000,
  before: Number.MAX_SAFE_INTEGER,
})
const newKey = () => utf8(`calls/${newId()}`)
const holdsOf = async (engine: LockEngine, key: Uint8Array) =>
  (await engine.query({ prefix: key, isKey: true, queue: true })).rows

async function deadlines(engine: LockEngine): Promise<void> {
  const request = requestFor(newKey())
  const { key, id } = request
  const taken = async (lease: number) => (await engine.take({ ...request, lease })).hold?.deadline ?? 0
  const renewed = async (lease: number) => (await engine.renew([{ key, id, lease }])).holds[0]?.deadline ?? 0
  let deadline = await taken(LEASE)
  let longer = LEASE
  for (const call of [taken, renewed]) {
    const unchanged = await call(LEASE / 2)
    assert.ok(
      unchanged >= deadline,
      `a shorter lease has moved the deadline from ${deadline} to ${unchanged}`,
    )
    longer *= 4
    const later = await call(longer)
    assert.ok(later > unchanged, `a longer lease has moved the deadline from ${unchanged} to ${later}`)
    deadline = later
  }
  const rotated = (await engine.rotate(key, id)).hold?.deadline ?? 0
  assert.ok(rotated >= deadline, `a rotation has moved the deadline from ${deadline} to ${rotated}`)
}

async function late(engine: LockEngine): Promise<void> {
  const key = newKey()
  const takeLate = async () => {
    const { now } = await engine.time()
    return (await engine.take({ ...requestFor(key), before: now - 1 })).code
  }
  assert.equal(await takeLate(), 'LATE')
  assert.deepEqual(await holdsOf(engine, key), [])
  assert.equal((await engine.take(requestFor(key))).code, 'FIRST_TIME')
  assert.equal(await takeLate(), 'LATE')
  const [row] = await holdsOf(engine, key)
  assert.equal(row?.[6], 0, 'the late caller waits')
}

async function cancelled(engine: LockEngine): Promise<void> {
  const key = newKey()
  const [a, b, c] = [requestFor(key), requestFor(key), requestFor(key)]
  const { hold } = await engine.take(a)
  await engine.take(b)
  await engine.take(c)
  const isFair = engine.capabilities.queue === 'fair'
  const [row] = await holdsOf(engine, key)
  assert.deepEqual(row?.[8]?.map(([id]) => id) ?? [], isFair ? [b.id, c.id] : [])
  assert.deepEqual((await engine.cancel([b, a])).tokens, [0, hold?.token])
  if (isFair) assert.equal((await engine.take({ ...requestFor(key), queues: false })).code, 'HELD')
  assert.equal((await engine.take(c)).code, 'FIRST_TIME')
}

async function anyBytes(engine: LockEngine): Promise<void> {
  const bytes = Uint8Array.of(0, 255, 39, 92, 10, 47, 37, 13)
  const contexts = [bytes, "a ' \\ 𝄞 \n %d", bytes]
  const key = Buffer.concat([newKey(), bytes])
  for (const context of contexts) await engine.take({ ...requestFor(key), context })
  const [row] = await holdsOf(engine, key)
  assert.deepEqual(Buffer.from(row?.[0] ?? []), key)
  const shown = [row?.[2], ...(row?.[8] ?? []).map(([, context]) => context)]
  const isFair = engine.capabilities.queue === 'fair'
  assert.deepEqual(shown.map(asText), (isFair ? contexts : [bytes]).map(asText))
}

const asText = (context: unknown) =>
  context instanceof Uint8Array ? `bytes ${[...context].join(' ')}` : `text ${String(context)}`
