// Driver: a workload with keys that have a ttl or a session. Each client puts its own keys in every possible
// way.

import { EXPIRY_PREFIX } from '../laws/key-expiry.js'
import type { Client } from './client.js'

const KEYS = 3

export async function expiryWorker(client: Client): Promise<void> {
  const { name, random, records } = client
  while (await client.goesOn()) {
    const key = `${EXPIRY_PREFIX}${name}/${random.between(0, KEYS)}`
    await anyCall(client, key).catch((error) => records.fault(error))
    // This wait is longer than some ttls, so keys can expire.
    if (random.chance(0.1)) await client.sleep(random.between(500, 2_500))
  }
}

async function anyCall({ store, random, records }: Client, key: string): Promise<unknown> {
  const value = records.word()
  const ttl = random.pick([1, 40, 300, 1_500])
  const limit = { timeout: random.pick([300, 2_000]) }
  switch (random.between(0, 9)) {
    case 0:
    case 1:
      return store.put(key, value, { ...limit, ttl })
    case 2:
      return store.putAll([{ key, value, ttl }], limit)
    case 3:
      return store.batch([{ type: 'put', key, value, ttl }], limit)
    case 4:
      return store.touch(key, ttl, limit)
    case 5:
      return store.put(key, value, { ...limit, ephemeral: true })
    case 6:
      return store.put(key, value, limit)
    case 7:
      return store.putAll([{ key, value }], limit)
    default:
      return store.delete(key, limit)
  }
}
