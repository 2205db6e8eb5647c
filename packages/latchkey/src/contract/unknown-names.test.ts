// Test: an unknown option, field or event is a TypeError that suggests a known name, before any request is
// sent.

import { Watchdog } from '@latchkey/lock'
import { expect, test } from 'vitest'
import { connect } from '@latchkey/client'
import { open } from '../open/index.js'
import { onEveryStore } from './testing/every-store.js'

type Loose = Record<string, (...args: unknown[]) => unknown>

const CALLS: readonly [call: string, run: (store: Loose, key: string) => unknown, message: RegExp][] = [
  [
    'put',
    (s, k) => s.put?.(k, 'v', { gaurd: { key: 'l', token: 1 } }),
    /option "gaurd" of put: did you mean "guard"\?/,
  ],
  ['put', (s, k) => s.put?.(k, 'v', { timeOut: 5 }), /option "timeOut" of put: did you mean "timeout"\?/],
  ['put', (s, k) => s.put?.(k, 'v', { consistency: 'stale' }), /option "consistency" of put/],
  [
    'put',
    (s, k) => s.put?.(k, 'v', { guard: { key: 'l', tokn: 1 } }),
    /field "tokn" of guard: did you mean "token"\?/,
  ],
  [
    'get',
    (s, k) => s.get?.(k, { consistancy: 'stale' }),
    /option "consistancy" of get: did you mean "consistency"\?/,
  ],
  ['multiGet', (s) => s.multiGet?.([], { ass: 'json' }), /option "ass" of multiGet: did you mean "as"\?/],
  [
    'scan',
    (s) => s.scan?.({ start: 'a', end: 'b' }),
    /field "start" of range: known are gte, gt, lte, lt, prefix/,
  ],
  ['scan', (s) => s.scan?.({ prefx: 'a' }), /field "prefx" of range: did you mean "prefix"\?/],
  [
    'txn',
    (s, k) => s.txn?.({ if: [], then: [{ type: 'put', key: k, value: 'v' }] }),
    /field "if" of txn: known are when, then, else/,
  ],
  [
    'txn',
    (s, k) => s.txn?.({ when: [{ key: k, op: '!=', value: 'v' }] }),
    /field "op" of when\[0\]: known are key, field, is, value/,
  ],
  [
    'txn',
    (s, k) => s.txn?.({ when: [{ lock: k, token: 1, is: '!=' }] }),
    /field "is" of when\[0\]: known are lock, token/,
  ],
  [
    'batch',
    (s, k) => s.batch?.([{ type: 'increment', key: k, bye: 1 }]),
    /field "bye" of ops\[0\]: did you mean "by"\?/,
  ],
  ['batch', (s, k) => s.batch?.([{ type: 'put', key: k, val: 'v' }]), /field "val" of ops\[0\]/],
  [
    'batch',
    (s, k) => s.batch?.([{ type: 'delete', key: k, value: 'v' }]),
    /field "value" of ops\[0\]: known are type, key/,
  ],
  [
    'putAll',
    (s, k) => s.putAll?.([{ key: k, value: 'v', tll: 5 }]),
    /field "tll" of entries\[0\]: did you mean "ttl"\?/,
  ],
  ['put', (s, k) => s.put?.(k, 'v', { ephemral: true }), /"ephemral" of put: did you mean "ephemeral"\?/],
  [
    'latches.wait',
    (s, k) => (s['latches'] as unknown as Loose)['wait']?.(k, { timeuot: 5 }),
    /option "timeuot" of latches.wait: did you mean "timeout"\?/,
  ],
  [
    'barriers.enter',
    (s, k) => (s['barriers'] as unknown as Loose)['enter']?.(k, { partys: 2 }),
    /option "partys" of barriers.enter: did you mean "parties"\?/,
  ],
  ['merge', (s, k) => s.merge?.(k, 'v', { ttl: 5 }), /unknown option "ttl" of merge/],
  [
    'putIfAbsent',
    (s, k) => s.putIfAbsent?.(k, 'v', { ttl: '5s' }),
    /unknown option "ttl" of putIfAbsent: a key gets a life by put, putAll, and the puts of a batch or a txn/,
  ],
  ['getAndPut', (s, k) => s.getAndPut?.(k, 'v', { ephemeral: true }), /"ephemeral" of getAndPut: a key gets/],
  [
    'compareAndPutAll',
    (s, k) => s.compareAndPutAll?.([{ key: k, expected: 'a', update: 'b' }]),
    /field "expected" of list\[0\]: did you mean "expect"\?/,
  ],
  [
    'watch',
    async (s, k) => s.watch?.({ key: k }, { initail: true }),
    /option "initail" of watch: did you mean "initial"\?/,
  ],
  [
    'locks.watch',
    async (s, k) => (s as unknown as { locks: Loose }).locks.watch?.(k, { renewal: true }),
    /option "renewal" of locks.watch: did you mean "renewals"\?/,
  ],
  ['mirror', (s, k) => s.mirror?.({ prefx: k }), /field "prefx" of target: did you mean "prefix"\?/],
  [
    'mirror',
    (s, k) => s.mirror?.({ key: k }, { ass: 'json' }),
    /option "ass" of mirror: did you mean "as"\?/,
  ],
  ['metrics', (s) => s.metrics?.({ timout: 5 }), /option "timout" of metrics: did you mean "timeout"\?/],
  ['status', (s) => s.status?.({ time: 5 }), /option "time" of status/],
  ['snapshot', (s) => s.snapshot?.({ timout: 5 }), /option "timout" of snapshot: did you mean "timeout"\?/],
  [
    'backup',
    (s) => s.backup?.('nowhere/x', { overwrit: true }),
    /option "overwrit" of backup: did you mean "overwrite"\?/,
  ],
]

onEveryStore((at) => {
  test.each(CALLS)('C50: %s with an unknown name, %#', async (_call, run, message) => {
    const key = at.key()
    const refused = Promise.resolve(run(at.store as unknown as Loose, key))
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow(message)
    expect(await at.store.containsKey(key)).toBe(false)
  })

  test('calls that return an iterator throw at the call', () => {
    const store = at.store as unknown as Loose
    expect(() => store.entries?.({ limt: 5 })).toThrow('unknown field "limt" of range: did you mean "limit"?')
    expect(() => store.watch?.({ prefix: 'a', form: 5 })).toThrow(
      'unknown field "form" of target: did you mean "from"?',
    )
    expect(() => store.watch?.({ range: { gte: 'a', limit: 5 } })).toThrow(
      'unknown field "limit" of target.range',
    )
  })

  test('locks: an unknown option', async () => {
    const { locks, getDistributedLock } = at.store as unknown as { locks: Loose } & Loose
    const lock = getDistributedLock?.call(at.store, at.key(), '10s') as Loose
    for (const [refused, message] of [
      [
        locks.acquire?.call(locks, at.key(), { ttl: 60_000 }),
        'unknown option "ttl" of acquire: known are lease, wait',
      ],
      [
        locks.tryAcquire?.call(locks, at.key(), { leas: '1s' }),
        'unknown option "leas" of tryAcquire: did you mean "lease"?',
      ],
      [
        locks.withLock?.call(locks, at.key(), { wiat: 5 }, () => 1),
        'unknown option "wiat" of withLock: did you mean "wait"?',
      ],
      [locks.query?.call(locks, 'a', { a: 1 }), 'unknown option "a" of locks.query'],
      [
        locks.forceRelease?.call(locks, at.key(), 1, { timout: 5 }),
        'unknown option "timout" of forceRelease',
      ],
      [
        lock.tryLock?.call(lock, { wait: '1s' }),
        'unknown option "wait" of tryLock: known are context, timeout, signal',
      ],
      [
        lock.lock?.call(lock, { timeout: '1s' }),
        'unknown option "timeout" of lock: known are context, signal',
      ],
      [lock.unlock?.call(lock, { context: 'a' }), 'unknown option "context" of unlock'],
    ] as const) {
      await expect(refused).rejects.toThrow(TypeError)
      await expect(refused).rejects.toThrow(message)
    }
    expect(() => getDistributedLock?.call(at.store, at.key(), '10s', undefined, { contxt: 'a' })).toThrow(
      'unknown option "contxt" of getDistributedLock: did you mean "context"?',
    )
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('a value outside its list: the message names the list and the nearest', async () => {
    const { locks } = at.store as unknown as { locks: Loose }
    const store = at.store as unknown as Loose
    const condition = (more: object) =>
      store.txn?.({ when: [{ key: at.key(), value: 1, ...more }], then: [] })
    for (const [refused, message] of [
      [
        store.get?.('k', { as: 'jsn' }),
        `as must be 'bytes', 'string', 'json' or 'msgpack'; got "jsn": did you mean "json"?`,
      ],
      [store.get?.('k', { consistency: 'stael' }), 'did you mean "stale"?'],
      [store.get?.('k', { onUndecodable: 'byte' }), 'did you mean "bytes"?'],
      [
        store.close?.({ holds: 'keeps' }),
        `holds must be 'release' or 'keep'; got "keeps": did you mean "keep"?`,
      ],
      [condition({ field: 'verson' }), 'when[0].field must be'],
      [condition({ field: 'verson' }), 'did you mean "version"?'],
      [condition({ is: '==' }), `when[0].is must be '=', '!=', '<' or '>'; got "=="`],
      [store.batch?.([{ type: 'putt', key: 'k', value: 'v' }]), 'did you mean "put"?'],
      [store.txn?.({ then: [{ type: 'gett', key: 'k' }] }), 'did you mean "get"?'],
      [
        locks.acquire?.call(locks, at.key(), { mode: 'share' }),
        `mode must be 'exclusive' or 'shared'; got "share": did you mean "shared"?`,
      ],
    ] as const) {
      const settled = Promise.resolve(refused)
      await expect(settled).rejects.toThrow(TypeError)
      await expect(settled).rejects.toThrow(message)
    }
    await at.store.containsKey(at.key())
  })

  test('an unknown field of an acquirer', async () => {
    const store = at.store as unknown as Loose
    const acquirer = { id: 'i', lease: '1s', fencngToken: 1 }
    for (const refused of [
      store.tryLockWith?.(at.key(), null, false, acquirer),
      store.releaseLockWith?.(at.key(), acquirer),
    ])
      await expect(refused).rejects.toThrow(
        'unknown field "fencngToken" of acquirer: did you mean "fencingToken"?',
      )
  })

  test('unknown events', () => {
    for (const listen of ['on', 'once', 'addListener'] as const)
      expect(() => at.store[listen]('leadr' as never, () => {})).toThrow(
        'unknown event "leadr": did you mean "leader"?',
      )
    expect(() => at.store.on('closing' as never, () => {})).toThrow(
      'unknown event "closing": known are leader',
    )
  })
})

test('of connect, open and a watchdog', async () => {
  await expect(connect(['ws://127.0.0.1:1'], { tokn: 'a' } as never)).rejects.toThrow(
    'unknown option "tokn" of connect: did you mean "token"?',
  )
  await expect(connect(['wss://127.0.0.1:1'], { tls: { cart: 'a' } } as never)).rejects.toThrow(
    'unknown option "cart" of tls: did you mean "cert"?',
  )
  await expect(open({ id: 'a', memroy: true } as never)).rejects.toThrow(
    'unknown option "memroy" of open: did you mean "memory"?',
  )
  await expect(open({ id: 'a', memory: true, auth: { token: ['a'] } } as never)).rejects.toThrow(
    'unknown field "token" of auth: did you mean "tokens"?',
  )
  await expect(
    open({ id: 'a', memory: true, auth: { tokens: [{ token: 'a', right: ['read'] }] } } as never),
  ).rejects.toThrow('unknown field "right" of auth.tokens[0]: did you mean "rights"?')
  await expect(open({ id: 'a', memory: true, tls: { certt: 'a' } } as never)).rejects.toThrow(
    'unknown option "certt" of tls: did you mean "cert"?',
  )
  await expect(open({ id: 'a', memory: true, snapshot: { everyEntrys: 1 } } as never)).rejects.toThrow(
    'unknown option "everyEntrys" of snapshot: did you mean "everyEntries"?',
  )
  expect(() => new Watchdog().on('loss' as never, () => {})).toThrow(
    'unknown event "loss": did you mean "lost"?',
  )
})

test('a name that every object has (toString) is unknown too', async () => {
  await using store = await open({ id: 'a', memory: true })
  await store.ready()
  for (const name of ['constructor', 'toString', '__proto__x'])
    await expect(store.put('k', 'v', { [name]: 1 } as never)).rejects.toThrow(
      `unknown option "${name}" of put`,
    )
})
