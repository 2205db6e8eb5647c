// Test: every documented error code occurs once, through the public API or the command.

import { once } from 'node:events'
import { open as openFile, readdir } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, type Store } from '@latchkey/client'
import { ERROR_CODES, type ErrorCode, ERRORS, isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { freePorts } from '@latchkey/test-chaos/ports'
import { until } from '@latchkey/test-chaos/until'
import { open } from 'latchkey'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'

const TOKEN = 'all-rights'
let three: Cluster
let store: Store

beforeAll(async () => {
  three = await Cluster.start({
    // A leader without a majority still leads when a call comes, also on a machine that stands still.
    flags: ['--token', TOKEN, '--token', 'read:reader', '--member-token', 'm', '--election-timeout', '10000'],
    token: TOKEN,
  })
})
afterAll(() => three.destroy())
beforeEach(async () => {
  store = await connect(three.urls, { token: TOKEN })
})
afterEach(() => store.close())

type Meet = () => Promise<unknown>

/** While the others stand still. */
async function withoutMajority<T>(run: (store: Store) => Promise<T>): Promise<T> {
  const leader = await three.leader()
  const others = three.members.filter((member) => member !== leader)
  const alone = await connect([leader.url], { token: TOKEN })
  // It has a session, and uses it there.
  await alone.put('k', 'with a majority')
  for (const member of others) member.signal('SIGSTOP')
  try {
    return await run(alone)
  } finally {
    for (const member of others) member.signal('SIGCONT')
    await alone.close()
    await three.ready()
  }
}

/** A cluster of one for a deed from which it does not come back. */
async function withOne<T>(run: (cluster: Cluster) => Promise<T>): Promise<T> {
  const one = await Cluster.start({ size: 1 })
  try {
    return await run(one)
  } finally {
    await one.destroy()
  }
}

/** The code that a sidecar which ended by itself has printed, as an error. */
async function ended(cluster: Cluster): Promise<never> {
  const member = cluster.get('a')
  expect(await member.exited()).toBe(1)
  throw new LatchkeyError(/latchkey: (ERR_\w+)/.exec(member.output)?.[1] as ErrorCode)
}

const MEETINGS: Record<ErrorCode, Meet> = {
  ERR_NO_LEADER: async () => {
    const [port] = await freePorts(1)
    return connect([`ws://127.0.0.1:${port}`], { timeout: '200ms' })
  },
  ERR_BUSY: async () => {
    const [port] = await freePorts(1)
    await store.members.add('lagging', `ws://127.0.0.1:${port}`)
    try {
      await store.members.promote('lagging')
    } finally {
      await store.members.remove('lagging')
    }
  },
  ERR_TIMEOUT: () => withoutMajority((alone) => alone.get('k', { timeout: '300ms' })),
  ERR_OUTCOME_UNKNOWN: async () => {
    return withoutMajority(async (alone) => {
      await alone.put('k', 'v', { timeout: '300ms' })
    })
  },
  ERR_ABORTED: () => store.put('k', 'v', { signal: AbortSignal.abort() }),
  ERR_CLOSED: async () => {
    const closed = await connect(three.urls, { token: TOKEN })
    await closed.close()
    return closed.get('k')
  },
  ERR_TOO_LARGE: () => store.put('k'.repeat(4097), 'v'),
  ERR_COMPACTED: async () => {
    await using embedded = await open({ id: 'a', memory: true })
    const { revision } = await embedded.put('k', 'the first')
    const entries = Array.from({ length: 10_000 }, (_, i) => [`k/${i}`, ''] as const)
    for (let i = 0; i < 11; i++) await embedded.putAll(entries)
    return await embedded.watch({ prefix: 'k', from: revision }).next()
  },
  ERR_NOT_OWNER: () => store.getDistributedLock('nobody’s', '1s').unlock(),
  ERR_LOCK_LOST: async () => {
    const lock = store.getDistributedLock('short', '1s')
    // A commit that takes longer than the lease is no grant, and the wait goes on.
    expect(await lock.tryLock({ timeout: '50s' })).toBe(true)
    await until('the lease is over', () => !lock.held)
    return lock.getFencingToken()
  },
  ERR_FENCED: () => store.put('k', 'v', { guard: { key: 'free', token: 7 } }),
  ERR_UNAUTHORIZED: () => connect(three.urls, { token: 'wrong' }),
  ERR_FORBIDDEN: async () => {
    const reader = await connect(three.urls, { token: 'reader' })
    return reader.put('k', 'v').finally(() => reader.close())
  },
  ERR_WRONG_CLUSTER: () => connect(three.urls, { token: TOKEN, cluster: 'another' }),
  ERR_DIR_LOCKED: () => open({ id: 'a', dir: three.get('a').options.dir }),
  ERR_CORRUPT: () =>
    withOne(async (one) => {
      const member = one.get('a')
      expect(await member.stop()).toBe(0)
      await flipByteOfLog(member.options.dir)
      member.start()
      return ended(one)
    }),
  ERR_STORAGE_FAILED: () =>
    withOne(async (one) => {
      const member = one.get('a')
      await member.stop()
      member.start({ shell: 'ulimit -f 6000' })
      await member.ready()
      const writer = await connect(one.urls)
      const big = Buffer.alloc(1 << 20, 'x')
      for (let i = 0; member.running && i < 50; i++)
        await writer.put(`big/${i}`, big, { timeout: '1s' }).catch(() => {})
      await writer.close()
      return ended(one)
    }),
  ERR_PROTOCOL: async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    server.on('connection', (socket) => socket.on('message', () => socket.send(Buffer.from('nonsense'))))
    await once(server, 'listening')
    try {
      const { port } = server.address() as AddressInfo
      return await connect([`ws://127.0.0.1:${port}`], { timeout: '10s' })
    } finally {
      server.close()
    }
  },
  ERR_CONFIG_CHANGE_IN_PROGRESS: () =>
    withoutMajority(async (alone) => {
      // It cannot be committed now; what becomes of it is told by the remove at the end.
      const first = alone.members.add('x', 'ws://127.0.0.1:1', { timeout: '1s' }).catch(() => {})
      await alone.members.add('y', 'ws://127.0.0.1:2', { timeout: '1s' }).finally(() => first)
    }),
  ERR_DEADLOCK: () =>
    store.locks.withLock('own', () => store.locks.acquire('own').then((hold) => hold.release())),
  ERR_NOT_A_NUMBER: async () => {
    await store.put('word', 'seven')
    return store.increment('word')
  },
  ERR_MISMATCH: () => store.members.promote('nobody'),
  ERR_BARRIER_BROKEN: async () => {
    const other = await connect(three.urls, { token: TOKEN })
    const refused = other.barriers.enter('round', { parties: 3 }).catch(() => {})
    const entered = store.barriers.enter('round', { parties: 3 })
    entered.catch(() => {})
    await until('both wait', async () => {
      const page = await fetch(`${three.urls[0]?.replace('ws', 'http')}/metrics`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
      return (await page.text()).includes('latchkey_waiters{kind="barrier"} 2')
    })
    await other.close()
    await refused
    return entered
  },
  ERR_UNDECODABLE: async () => {
    await store.put('text', 'no JSON')
    return store.get('text', { as: 'json' })
  },
}

/** In the first record: far before the mark. */
async function flipByteOfLog(dir: string): Promise<void> {
  const files = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith('.wal'))
  const file = await openFile(join(dir, files[0] as string), 'r+')
  try {
    const at = 100
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, at)
    await file.write(Buffer.from([(byte[0] as number) ^ 1]), 0, 1, at)
  } finally {
    await file.close()
  }
}

const OF_ALL: ReadonlySet<string> = new Set(['name', 'code', 'retryable', 'outcome', 'cause'])

test.each(ERROR_CODES)('%s is met, and says what it is', async (code) => {
  const error = await MEETINGS[code]().then(
    () => undefined,
    (met: unknown) => met,
  )
  expect(error).toSatisfy((met) => isLatchkeyError(met))
  expect(error).toMatchObject({ name: 'LatchkeyError', code, retryable: ERRORS[code].retryable })
  expect((error as LatchkeyError).message).not.toBe('')
  const others = Object.keys(error as object).filter((name) => !OF_ALL.has(name))
  expect(ERRORS[code].fields).toEqual(expect.arrayContaining(others))
})
