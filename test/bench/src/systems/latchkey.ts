// Driver: three real sidecars with their defaults, and a client over one connection.

import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import type { System, SystemClient } from './system.js'

export async function latchkey(
  flags: readonly string[] = [],
): Promise<System & { readonly cluster: Cluster }> {
  const cluster = await Cluster.start({ flags })
  return {
    name: 'Latchkey',
    setting: 'three members, every commit synced on a majority, defaults',
    cluster,
    connect: async () => latchkeyClient(await connect(cluster.urls)),
    stop: () => cluster.destroy(),
  }
}

function latchkeyClient(store: Store): SystemClient {
  const locks = new Map<string, ReturnType<Store['getDistributedLock']>>()
  const lockFor = (key: string) => {
    const lock = locks.get(key) ?? store.getDistributedLock(key, '10s')
    locks.set(key, lock)
    return lock
  }
  return {
    async lockPair(key) {
      const lock = lockFor(key)
      if (!(await lock.tryLock())) return false
      const { held } = lock
      await lock.unlock()
      return held
    },
    put: async (key, value) => (await store.put(key, value)).revision > 0,
    get: async (key) => (await store.get(key)) !== undefined,
    async passOn(key, served) {
      const hold = await store.locks.acquire(key, { lease: '30s', wait: '60s', renew: false })
      served()
      await hold.release()
    },
    close: () => store.close(),
  }
}
