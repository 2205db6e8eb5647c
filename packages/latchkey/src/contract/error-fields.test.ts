// Test: each error has the fields that docs/errors.md names for its code, on every kind of store.

import { ERROR_CODES, ERRORS, type ErrorCode, type ErrorField } from '@latchkey/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, LatchkeyError, open, type Store } from '../index.js'
import { type At, onEveryStore } from './testing/every-store.js'
import { freePorts, tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { errorOf, sleep, TOLD_WITHIN, unlessStalled, until } from './testing/small-test-functions.js'
import { openTrio } from './testing/three-embedded-members.js'

interface Row<Place> {
  readonly code: ErrorCode
  readonly by: string
  readonly has: readonly ErrorField[]
  readonly meet: (place: Place) => Promise<unknown>
}

/** The names of fields are those of the options of the constructor. */
const FIELDS: readonly ErrorField[] = [
  'key',
  'token',
  'holder',
  'owner',
  'waitedMillis',
  'leader',
  'missing',
  'revision',
  'clusters',
  'present',
  'circle',
]
function expectFields(error: LatchkeyError, { code, has, by }: Row<never>): void {
  expect(error, by).toMatchObject({ name: 'LatchkeyError', code })
  const there = FIELDS.filter((field) => error[field] !== undefined)
  expect(there, by).toEqual(expect.arrayContaining([...has]))
  expect(ERRORS[code].fields, by).toEqual(expect.arrayContaining(there))
}

/** A hold of this store that somebody has released by force; `next`: another store holds the lock now. */
async function lostHold(at: At, next: boolean) {
  const lock = at.store.getDistributedLock(at.key(), '1m')
  await lock.lock()
  await at.other.locks.forceRelease(at.key(), lock.getFencingToken())
  const other = next ? await at.other.locks.acquire(at.key(), { lease: '1m' }) : undefined
  return { lock, other }
}

const AT_EVERY_STORE: readonly Row<At>[] = [
  {
    code: 'ERR_FENCED',
    by: 'a guard while another holds the lock',
    has: ['key', 'token', 'holder'],
    meet: async (at) => {
      await using hold = await at.other.locks.acquire(at.key(), { lease: '1m' })
      await at.store.put('x', 'v', { guard: { key: at.key(), token: hold.token + 1 } })
    },
  },
  {
    code: 'ERR_FENCED',
    by: 'a write of a hold that is released',
    has: ['key', 'token'],
    meet: async (at) => {
      const hold = await at.store.locks.acquire(at.key())
      await hold.release()
      await hold.kv.put('x', 'v')
    },
  },
  {
    code: 'ERR_TIMEOUT',
    by: 'a wait for a lock',
    has: ['key', 'holder', 'waitedMillis'],
    meet: async (at) => {
      await using _ = await at.other.locks.acquire(at.key(), { lease: '1m' })
      let error = new LatchkeyError('ERR_TIMEOUT')
      await unlessStalled(TOLD_WITHIN, async () => {
        error = await errorOf(at.store.locks.acquire(at.key(), { wait: 50 }))
        expect(error).toHaveProperty('holder')
      })
      throw error
    },
  },
  {
    code: 'ERR_NOT_OWNER',
    by: 'an unlock while another holds the lock',
    has: ['key', 'token', 'owner'],
    meet: async (at) => {
      const { lock, other } = await lostHold(at, true)
      await using _ = other
      await lock.unlock()
    },
  },
  {
    code: 'ERR_NOT_OWNER',
    by: 'an unlock of what was never held',
    has: ['key'],
    meet: (at) => at.store.getDistributedLock(at.key(), '1s').unlock(),
  },
  {
    code: 'ERR_NOT_OWNER',
    by: 'assertHeld of a hold that is released',
    has: ['key', 'token'],
    meet: async (at) => {
      const hold = await at.store.locks.acquire(at.key())
      await hold.release()
      hold.assertHeld()
    },
  },
  {
    code: 'ERR_LOCK_LOST',
    by: 'an unlock of a hold that is over',
    has: ['key', 'token'],
    meet: async (at) => (await lostHold(at, false)).lock.unlock(),
  },
  {
    code: 'ERR_LOCK_LOST',
    by: 'assertHeld, and the reason of the signal',
    has: ['key', 'token'],
    meet: async (at) => {
      const hold = await at.store.locks.acquire(at.key(), { lease: 100, renew: false })
      await until(() => !hold.held)
      expect(hold.signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST', key: at.key(), token: hold.token })
      hold.assertHeld()
    },
  },
  {
    code: 'ERR_LOCK_LOST',
    by: 'withLock',
    has: ['key', 'token'],
    meet: (at) =>
      at.store.locks.withLock(at.key(), async (hold) => {
        await at.other.locks.forceRelease(at.key(), hold.token)
      }),
  },
  {
    code: 'ERR_DEADLOCK',
    by: 'an acquire inside withLock of the same key',
    has: ['key'],
    meet: (at) => at.store.locks.withLock(at.key(), () => at.store.locks.acquire(at.key())),
  },
  {
    code: 'ERR_DEADLOCK',
    by: 'a wait that would close a circle of flows',
    has: ['key', 'circle'],
    meet: async (at) => {
      await at.store.locks.acquire(at.key(), { flow: 'F' })
      await at.store.locks.acquire(at.key(), { flow: 'F', wait: '1m' })
    },
  },
  {
    code: 'ERR_NOT_A_NUMBER',
    by: 'increment',
    has: ['key'],
    meet: async (at) => {
      await at.store.put(at.key(), 'seven')
      await at.store.increment(at.key())
    },
  },
  {
    code: 'ERR_UNDECODABLE',
    by: 'get',
    has: ['key', 'revision'],
    meet: async (at) => {
      await at.store.put(at.key(), 'no JSON')
      await at.store.get(at.key(), { as: 'json' })
    },
  },
  {
    code: 'ERR_MISMATCH',
    by: 'a semaphore that has another number of permits',
    has: ['key', 'present'],
    meet: async (at) => {
      await using _ = await at.store.semaphores.acquire(at.key(), { of: 3 })
      await at.store.semaphores.acquire(at.key(), { of: 4 })
    },
  },
]

onEveryStore((at) => {
  test.each(AT_EVERY_STORE)('$code has $has: $by', async (row) => {
    const error = await errorOf(row.meet(at))
    expectFields(error, row)
    if (row.has.includes('key')) expect(error.key).toBe(at.key())
  })
})

// ---- errors of a cluster that has lost its majority

interface Lonely {
  /** The member that is left, and a client of it. */
  readonly stores: readonly Store[]
  readonly id: string
}

const BEHIND_A_QUORUM: readonly Row<Store>[] = [
  {
    code: 'ERR_NO_LEADER',
    by: 'a write',
    has: ['leader', 'missing'],
    meet: (store) => store.put('k', 'v', { timeout: 300 }),
  },
  {
    code: 'ERR_NO_LEADER',
    by: 'a wait for a lock',
    has: ['leader', 'missing', 'key', 'waitedMillis'],
    meet: (store) => store.locks.acquire('lock', { wait: 300 }),
  },
  {
    code: 'ERR_TIMEOUT',
    by: 'a read',
    has: ['leader', 'missing'],
    meet: (store) => store.get('k', { timeout: 300 }),
  },
]

describe('behind a lost quorum', () => {
  const folder = tempFolders()
  let lonely: Lonely
  const end: (() => Promise<void>)[] = []
  beforeAll(async () => {
    const trio = await openTrio(folder())
    end.push(() => trio.close())
    const left = await trio.follower()
    const { id } = await left.status()
    const remote = await connect([trio.urls[id] as string])
    end.unshift(() => remote.close())
    await remote.put('k', 'v')
    await Promise.all(Object.values(trio.stores).map((store) => store !== left && store.close()))
    await until(async () => (await left.status()).leader === undefined)
    await until(async () => (await remote.status()).leader === undefined)
    await sleep(50)
    lonely = { stores: [left, remote], id }
  })
  afterAll(async () => {
    for (const run of end) await run()
  })

  test.each(BEHIND_A_QUORUM)('$code has $has: $by', async (row) => {
    const others = ['a', 'b', 'c'].filter((id) => id !== lonely.id)
    for (const store of lonely.stores) {
      const error = await errorOf(row.meet(store))
      expectFields(error, row)
      expect(['a', 'b', 'c']).toContain(error.leader)
      expect(error.missing).toEqual(others)
    }
  })
})

// ---- errors that need a cluster of their own

async function withTrio<T>(
  electionTimeout: number,
  run: (leader: Store, remote: Store, others: readonly Store[]) => Promise<T>,
) {
  const trio = await openTrio(folder(), { electionTimeout, heartbeat: 100 })
  const remote = await trio.connect()
  try {
    const leader = await trio.leader()
    await remote.put('k', '1')
    return await run(
      leader,
      remote,
      Object.values(trio.stores).filter((store) => store !== leader),
    )
  } finally {
    await remote.close()
    await trio.close()
  }
}

const ELSEWHERE: readonly Row<undefined>[] = [
  {
    code: 'ERR_OUTCOME_UNKNOWN',
    by: 'a write that was handed on to a leader without a majority',
    has: ['leader'],
    meet: () =>
      withTrio(10_000, async (leader, remote, others) => {
        await leader.put('k', '1')
        await Promise.all(others.map((store) => store.close()))
        const { id } = await leader.status()
        const embedded = errorOf(leader.put('k', '2', { timeout: 200 }))
        const error = await errorOf(remote.put('k', '3', { timeout: 200 }))
        expect([(await embedded).leader, error.leader]).toEqual([id, id])
        throw error
      }),
  },
  {
    code: 'ERR_OUTCOME_UNKNOWN',
    by: 'the same, when it leads no more',
    has: ['leader', 'missing'],
    meet: () =>
      withTrio(5_000, async (leader, _remote, others) => {
        await leader.put('k', '1')
        await Promise.all(others.map((store) => store.close()))
        const writing = errorOf(leader.put('k', '2', { timeout: 25_000 }))
        await until(async () => (await leader.status()).leader === undefined)
        throw await writing
      }),
  },
  {
    code: 'ERR_BUSY',
    by: 'promote of a member that lags',
    has: ['leader'],
    meet: async () => {
      await using store = await open({ id: 'a', memory: true, members: { a: await address() } })
      await store.ready()
      await store.members.add('lagging', await address())
      const error = await errorOf(store.members.promote('lagging'))
      expect(error.leader).toBe('a')
      throw error
    },
  },
  {
    code: 'ERR_BARRIER_BROKEN',
    by: 'a party whose session was ended while it waited at a barrier',
    has: ['key'],
    meet: async () => {
      await using store = await open({ id: 'a', memory: true })
      const entering = errorOf(store.barriers.enter('b', { parties: 2 }))
      await until(async () => (await store.sessions.list()).some(({ waiters }) => waiters > 0))
      for (const { id } of await store.sessions.list()) await store.sessions.end(id)
      const error = await entering
      expect(error.key).toBe('b')
      throw error
    },
  },
  {
    code: 'ERR_WRONG_CLUSTER',
    by: 'connect to two clusters',
    has: ['clusters'],
    meet: async () => {
      const urls = [await address(), await address()] as const
      await using one = await open({ id: 'a', memory: true, members: { a: urls[0] } })
      await using two = await open({ id: 'a', memory: true, members: { a: urls[1] } })
      await Promise.all([one.ready(), two.ready()])
      await using store = await connect(urls)
      for (;;) await store.put('k', 'v')
    },
  },
]

const folder = tempFolders()
const address = async () => `ws://127.0.0.1:${(await freePorts(1))[0]}`

test.concurrent.each(ELSEWHERE)('$code has $has: $by', async (row) => {
  expectFields(await errorOf(row.meet(undefined)), row)
})

test('each field that the table of errors promises is shown here, and no other', () => {
  const rows = [...AT_EVERY_STORE, ...BEHIND_A_QUORUM, ...ELSEWHERE]
  for (const code of ERROR_CODES) {
    const shown = new Set(rows.filter((row) => row.code === code).flatMap(({ has }) => has))
    expect([...shown].sort(), code).toEqual([...ERRORS[code].fields].sort())
  }
  expect(() => expectFields({} as LatchkeyError, AT_EVERY_STORE[0] as Row<never>)).toThrow('expected')
})
