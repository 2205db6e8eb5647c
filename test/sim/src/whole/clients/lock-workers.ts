// Driver: workloads with locks: holders that renew, holders that use their lease until its last millisecond,
// waiters that give up, reentrant holders, and guarded writes.

import type { DistributedLock, Hold } from '@latchkey/lock'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

export const lockNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `lock/${i}`)

/** Every second lock has its own counter of tokens. The other locks share the counter of the store. */
export const fencingKeyOf = (key: string): string | undefined => (key.endsWith('1') ? 'tokens' : undefined)

const leaseOf = ({ random, records }: Client): number =>
  random.between(records.options.lease[0], records.options.lease[1] + 1)

export type Habit = 'renewing' | 'deadline' | 'waiting' | 'reentrant' | 'forcing'

/** Acquires and releases locks in one way until the run is over. */
export async function lockWorker(world: WholeWorld, client: Client, habit: Habit): Promise<void> {
  const { records, random } = client
  const names = lockNames(records.options.locks)
  while (await client.goesOn()) {
    const key = random.pick(names)
    try {
      await HABITS[habit](world, client, key)
      records.done++
    } catch (error) {
      const { code } = records.fault(error)
      records.time.print.addText(code)
    }
  }
}

type Run = (world: WholeWorld, client: Client, key: string) => Promise<void>

const HABITS: Readonly<Record<Habit, Run>> = {
  async renewing(world, client, key) {
    const { store, random } = client
    const wait = random.between(500, 4_000)
    const fencingKey = fencingKeyOf(key)
    const hold = await store.locks.acquire(key, { lease: leaseOf(client), wait, fencingKey })
    began(world, client, key, hold)
    const { name, life } = client
    if (life.host.name.startsWith('p')) world.renewed.began(name, life, key, hold.token, () => hold.held)
    await work(client, key, hold, leaseOf(client) * random.float() * 3)
    world.renewed.leaves(key, hold.token)
    await hold.release()
  },

  /** Never renews, and writes as long as the lock is held. The last write is sent as late as possible. */
  async deadline(world, client, key) {
    const { store, random } = client
    const lease = leaseOf(client)
    const wait = random.between(500, 4_000)
    const fencingKey = fencingKeyOf(key)
    const hold = await store.locks.acquire(key, { lease, wait, renew: false, fencingKey })
    began(world, client, key, hold)
    await work(client, key, hold, Number.POSITIVE_INFINITY)
    if (random.chance(0.5)) await hold.release()
    else await write(client, key, hold).catch((error) => client.records.fault(error))
  },

  /** Often gives up its wait, by a time limit or by a signal. */
  async waiting(world, client, key) {
    const { store, random } = client
    const abort = new AbortController()
    if (random.chance(0.3)) void client.sleep(random.between(1, 1_000)).then(() => abort.abort())
    const forgets = random.chance(0.2)
    const wait = random.between(1, 3_000)
    const fencingKey = fencingKeyOf(key)
    const options = { lease: leaseOf(client), wait, signal: abort.signal, renew: !forgets, fencingKey }
    const hold = await store.locks.tryAcquire(key, options)
    if (hold === undefined) return
    began(world, client, key, hold)
    await work(client, key, hold, random.between(1, 300))
    if (!forgets) await hold.release()
  },

  async reentrant(world, client, key) {
    const { store, random } = client
    const watchdog = random.chance(0.5) ? new world.product.Watchdog() : undefined
    const fencingKey = fencingKeyOf(key)
    const lock = store.getDistributedLock(key, leaseOf(client), watchdog, { fencingKey })
    try {
      await enter(world, client, key, lock, random.between(1, 4))
    } finally {
      watchdog?.close()
    }
  },

  async forcing(_, client, key) {
    const { store, random } = client
    await client.sleep(random.between(500, 3_000))
    const [info] = await store.locks.query(key, { timeout: 2_000 })
    if (info !== undefined && random.chance(0.5)) await store.locks.forceRelease(key, info.fencingToken)
  },
}

async function enter(
  world: WholeWorld,
  client: Client,
  key: string,
  lock: DistributedLock,
  times: number,
): Promise<void> {
  const { random } = client
  let taken = 0
  try {
    for (let i = 0; i < times; i++) {
      if (!(await lock.tryLock({ timeout: random.between(200, 3_000) }))) return
      taken++
      if (taken === 1) {
        const token = lock.getFencingToken()
        const held = () => lock.held && lock.getFencingToken() === token
        world.holds.began(client.name, client.life, key, token, held)
      }
      await client.sleep(random.between(1, 100))
    }
  } finally {
    while (taken-- > 0) await lock.unlock().catch((error) => client.records.fault(error))
  }
}

function began(world: WholeWorld, client: Client, key: string, hold: Hold<'string'>): void {
  client.records.time.print.addText(`${key}=${hold.token}`)
  world.holds.began(client.name, client.life, key, hold.token, () => hold.held)
}

async function work(client: Client, key: string, hold: Hold<'string'>, millis: number): Promise<void> {
  const { random, life } = client
  const end = life.clock.now() + millis
  while (hold.held && life.clock.now() < end && !client.records.stopping) {
    if (random.chance(0.5)) await write(client, key, hold)
    await client.sleep(random.between(1, 120))
  }
}

async function write({ records }: Client, key: string, hold: Hold<'string'>): Promise<void> {
  try {
    await hold.kv.put(`guarded/${key}`, records.word(), { timeout: 1_000 })
  } catch (error) {
    records.fault(error)
  }
}
