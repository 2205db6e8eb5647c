// Driver: three embedded members in this process, with ports on loopback and a folder for each.

import { join } from 'node:path'
import { connect, type ConnectOptions, type Store } from '@latchkey/client'
import type { Status } from '@latchkey/protocol'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { open } from '../../open/index.js'
import type { OpenOptions } from '../../open/options.js'
import { freePorts, tempFolders } from './free-ports-and-temporary-folders.js'

/** Short election timeouts, which are still long enough for one election on a busy machine. */
export const QUICK = { electionTimeout: 600, heartbeat: 50 } as const

export interface Trio {
  readonly stores: Record<string, Store>
  readonly urls: Record<string, string>
  /** Resolves to the store of the present leader. */
  leader(): Promise<Store>
  follower(): Promise<Store>
  connect(options?: ConnectOptions): Promise<Store>
  close(): Promise<void>
}

export async function openTrio(folder: string, more: Partial<OpenOptions> = {}): Promise<Trio> {
  const ids = ['a', 'b', 'c']
  const ports = await freePorts(ids.length)
  const urls = Object.fromEntries(ids.map((id, at) => [id, `ws://127.0.0.1:${ports[at]}`]))
  const opened = await Promise.all(
    ids.map((id) => open({ id, dir: join(folder, id), members: urls, ...QUICK, ...more })),
  )
  const stores = Object.fromEntries(ids.map((id, at) => [id, opened[at] as Store]))
  await Promise.all(opened.map((store) => store.ready({ timeout: '30s' })))
  const withRole = async (role: Status['role']): Promise<Store> => {
    for (;;) {
      for (const store of opened) if ((await store.status()).role === role) return store
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return {
    stores,
    urls,
    leader: () => withRole('leader'),
    follower: () => withRole('follower'),
    connect: (options) => connect(Object.values(urls), options),
    close: async () => {
      await Promise.all(opened.map((store) => store.close()))
    },
  }
}

interface TrioOfFile {
  readonly leader: Trio['leader']
  /** Opens a remote store and closes it after the present test. The three members stay for the next test. */
  remote(): Promise<Store>
}

/**
 * Call this function once in a test file. The three members start before the tests of the file, and close
 * after these tests.
 */
export function trioOfFile(): TrioOfFile {
  const folder = tempFolders()
  const opened: Store[] = []
  let trio: Trio
  beforeAll(async () => {
    trio = await openTrio(folder())
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
  afterAll(() => trio?.close())
  return {
    leader: () => trio.leader(),
    async remote() {
      const store = await trio.connect()
      opened.push(store)
      return store
    },
  }
}
