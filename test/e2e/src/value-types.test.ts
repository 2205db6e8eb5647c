// Test: the types of values, keys and durations, as users see them. The functions are only compiled and never
// run, with the module resolutions node16 (tsconfig.types-node16.json) and bundler
// (tsconfig.types-bundler.json).

import {
  type As,
  type Duration,
  type Hold,
  type RemoteStore,
  type Store,
  type WatchEvent,
  connect,
  open,
} from 'latchkey'
import { expect, expectTypeOf, test } from 'vitest'

interface User {
  name: string
}

test('the types of stores compile', () => {
  expect([bytes, texts, parsed, stores, durations].map((use) => typeof use)).toEqual(
    Array.from({ length: 5 }, () => 'function'),
  )
})

async function bytes(store: Store): Promise<void> {
  expectTypeOf(await store.get('k')).toEqualTypeOf<Uint8Array | undefined>()
  expectTypeOf(await store.get('k', { timeout: '1s' })).toEqualTypeOf<Uint8Array | undefined>()
  expectTypeOf(await store.get('k', { as: 'string' })).toEqualTypeOf<string | undefined>()
  expectTypeOf(await store.get('k', { as: 'json' })).toEqualTypeOf<unknown>()
  expectTypeOf(await store.get<User>('k', { as: 'json' })).toEqualTypeOf<User | undefined>()
  expectTypeOf(await store.get<User>('k', { as: 'msgpack' })).toEqualTypeOf<User | undefined>()
  expectTypeOf(await store.multiGet<User>(['k'], { as: 'json' })).toEqualTypeOf<(User | undefined)[]>()
  expectTypeOf((await store.scan())[0]).toEqualTypeOf<{ key: Uint8Array; value: Uint8Array } | undefined>()
  expectTypeOf((await store.getEntry('k'))?.value).toEqualTypeOf<Uint8Array | undefined>()
  // @ts-expect-error bytes are no number
  const number: number = await store.get('k')
  // @ts-expect-error a user is not put as bytes
  await store.put('k', { name: 'Ada' })
  // @ts-expect-error and bytes are read as no user
  const user: User | undefined = await store.get<User>('k')
  // @ts-expect-error nor is text
  await store.get<User>('k', { as: 'string' })
  // @ts-expect-error another encoding
  await store.get('k', { as: 'xml' })
  await store.put('k', { name: 'Ada' }, { as: 'json' })
  await store.batch([{ type: 'put', key: 'k', value: { name: 'Ada' } }], { as: 'msgpack' })
  // @ts-expect-error undefined is no value
  await store.put('k', undefined, { as: 'json' })
  expectTypeOf([number, user]).not.toBeAny()
}

async function texts(store: Store<'string'>): Promise<void> {
  expectTypeOf(store.as).toEqualTypeOf<'string'>()
  expectTypeOf(await store.get('k')).toEqualTypeOf<string | undefined>()
  expectTypeOf(await store.get('k', { as: 'bytes' })).toEqualTypeOf<Uint8Array | undefined>()
  for await (const key of store.keys()) expectTypeOf(key).toEqualTypeOf<string>()
  for await (const key of store.keys({}, { as: 'bytes' })) expectTypeOf(key).toEqualTypeOf<Uint8Array>()
  for await (const event of store.watch({ key: 'k' })) {
    expectTypeOf(event.key).toEqualTypeOf<string>()
    expectTypeOf(event.previous).toEqualTypeOf<string | undefined>()
  }
  expectTypeOf((await store.locks.query())[0]?.key).toEqualTypeOf<string | undefined>()
}

async function parsed(store: Store<'json'>, packed: Store<'msgpack'>): Promise<void> {
  expectTypeOf(await store.get('k')).toEqualTypeOf<unknown>()
  expectTypeOf(await store.get<User>('k')).toEqualTypeOf<User | undefined>()
  expectTypeOf(await packed.get<User>('k', { timeout: 5 })).toEqualTypeOf<User | undefined>()
  expectTypeOf(await store.getAndPut<User>('k', { name: 'Ada' })).toEqualTypeOf<User | undefined>()
  expectTypeOf((await store.getEntry<User>('k'))?.value).toEqualTypeOf<User | undefined>()
  expectTypeOf((await store.scan<User>())[0]).toEqualTypeOf<{ key: string; value: User } | undefined>()
  for await (const { key, value } of store.entries<User>())
    expectTypeOf([key, value.name]).toEqualTypeOf<string[]>()
  for await (const value of store.values<User>()) expectTypeOf(value).toEqualTypeOf<User>()
  for await (const event of store.watch<User>({ prefix: 'k' }))
    expectTypeOf(event).toEqualTypeOf<WatchEvent<'json', User>>()
  await store.put('k', { name: 'Ada' })
  await store.put('k', null)
  await store.putAll(new Map([['k', [1]]]))
  await store.compareAndPut('k', { name: 'Ada' }, undefined)
  await store.txn({
    when: [{ key: 'k', value: { name: 'Ada' } }],
    then: [{ type: 'put', key: 'k', value: 1 }],
  })
  // @ts-expect-error undefined is no value: delete the key
  await store.put('k', undefined)
  // @ts-expect-error text is put as text where the call says so
  await store.put('k', 7, { as: 'string' })
  const hold = await store.locks.acquire('l')
  expectTypeOf(hold).toEqualTypeOf<Hold<'json'>>()
  expectTypeOf(await hold.kv.get<User>('k')).toEqualTypeOf<User | undefined>()
}

async function stores(as: As): Promise<void> {
  expectTypeOf(await connect('ws://x:1')).toEqualTypeOf<RemoteStore>()
  expectTypeOf(await connect('ws://x:1', { as: 'json' })).toEqualTypeOf<RemoteStore<'json'>>()
  const json = await open({ id: 'a', memory: true, as: 'json' })
  expectTypeOf(json.as).toEqualTypeOf<'json'>()
  expectTypeOf((await open({ id: 'a', memory: true })).as).toEqualTypeOf<'bytes'>()
  const any: Store<As> = json
  // @ts-expect-error a store of JSON is no store of bytes
  const none: Store = json
  expectTypeOf(await any.get('k', { as })).toEqualTypeOf<unknown>()
  expectTypeOf(none).not.toBeAny()
}

function durations(): Duration[] {
  // @ts-expect-error a blank
  const blank: Duration = '10 s'
  // @ts-expect-error no unit
  const none: Duration = '10'
  // @ts-expect-error a unit that there is not
  const day: Duration = '1d'
  // @ts-expect-error two units
  const two: Duration = '1h30m'
  // @ts-expect-error a fraction
  const part: Duration = '1.5s'
  return [blank, none, day, two, part, 5, '250ms', '10s', '2m', '1h']
}
