// Driver: three real sidecars with their defaults, and a client over one connection.

import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import type { Release, System, SystemClient } from './system.js'

export interface Latchkey extends System {
  readonly cluster: Cluster
}

/** What the unit and the image in deploy/ set for memory, except what depends on the C library. */
const DEPLOYED = { NODE_OPTIONS: '--max-semi-space-size=4' }

export async function latchkey(flags: readonly string[] = []): Promise<Latchkey> {
  const cluster = await Cluster.start({ flags, env: DEPLOYED })
  return {
    name: 'Latchkey',
    setting:
      'three members with default settings, which sync each commit on a majority; the client is @latchkey/client with one connection',
    cluster,
    pids: () => cluster.members.map((member) => member.pid as number),
    connect: async () => latchkeyClient(await connect(cluster.urls)),
    async leader() {
      const member = await cluster.leader()
      return {
        kill: () => member.signal('SIGKILL'),
        async startAgain() {
          await member.exited()
          member.start()
          await member.ready()
        },
      }
    },
    stop: () => cluster.destroy(),
  }
}

export function latchkeyClient(store: Store): SystemClient {
  // A lock object a key, as an app keeps it; the release is made once with it.
  const locks = new Map<string, { lock: ReturnType<Store['getDistributedLock']>; release: Release }>()
  const lockFor = (key: string) => {
    const known = locks.get(key)
    if (known) return known
    const lock = store.getDistributedLock(key, '10s')
    const release = async () => {
      const { held } = lock
      await lock.unlock()
      return held
    }
    const made = { lock, release }
    locks.set(key, made)
    return made
  }
  return {
    async take(key) {
      const { lock, release } = lockFor(key)
      return (await lock.tryLock()) ? release : undefined
    },
    put: async (key, value) => (await store.put(key, value)).revision > 0,
    get: (key) => store.get(key),
    async passOn(key, _waiter, served) {
      const hold = await store.locks.acquire(key, { lease: '30s', wait: '60s', renew: false })
      served()
      await hold.release()
    },
    async passPermit(name, _waiter, served) {
      const terms = { of: 1, lease: '30s', wait: '60s', renew: false } as const
      const permit = await store.semaphores.acquire(name, terms)
      served()
      await permit.release()
    },
    async passLeadership(name, _waiter, served) {
      const leadership = await store.elections.campaign(name, { value: 'me', lease: '30s', wait: '60s' })
      served()
      await leadership.resign()
    },
    close: () => store.close(),
  }
}
