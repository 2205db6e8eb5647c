// Driver: a workload with shared locks and semaphores: readers, writers, writers that become readers, one or
// three permits at a time, and guarded writes.

import type { Hold, HoldSet, Leadership, Permit } from '@latchkey/lock'
import { SHARED_PREFIX } from '../laws/shared-locks.js'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

/** Returns one more name than `count`, so that sets of locks can choose. */
export const sharedNames = (count: number): string[] =>
  Array.from({ length: count + 1 }, (_, i) => `${SHARED_PREFIX}${i}`)
export const SEMAPHORE = 'semaphore'
export const PERMITS = 3
export const ELECTION = 'election'

export async function sharedLockWorker(world: WholeWorld, client: Client): Promise<void> {
  const { records, random } = client
  while (await client.goesOn()) {
    try {
      const key = random.pick(sharedNames(records.options.locks))
      await random.pick([
        reads,
        reads,
        reads,
        writes,
        writes,
        takesAll,
        takesAll,
        crosses,
        crosses,
        takesPermits,
        takesPermits,
        leads,
      ])(world, client, key)
      records.done++
    } catch (error) {
      records.time.print.addText(records.fault(error).code)
    }
  }
}

const drawn = ({ random, records }: Client) => ({
  lease: random.between(records.options.lease[0], records.options.lease[1] + 1),
  wait: random.between(1, 4_000),
  renew: random.chance(0.6),
})

async function reads(world: WholeWorld, client: Client, key: string): Promise<void> {
  const terms = drawn(client)
  const hold = await client.store.locks.acquire(key, { ...terms, mode: 'shared' })
  world.holds.began(client.name, client.life, key, hold.token, () => hold.held, { permits: 1, of: 0 })
  await work(client, key, hold)
  await leave(client, hold, terms)
}

async function writes(world: WholeWorld, client: Client, key: string): Promise<void> {
  const { random } = client
  const terms = drawn(client)
  const hold = await client.store.locks.acquire(key, terms)
  const believer = world.holds.began(client.name, client.life, key, hold.token, () => hold.held)
  await work(client, key, hold)
  if (random.chance(0.4)) {
    // Other callers may share the lock from the moment of the request.
    believer.permits = 1
    await hold.downgrade()
    await work(client, key, hold)
  }
  await leave(client, hold, terms)
}

async function takesAll(world: WholeWorld, client: Client): Promise<void> {
  const { random, store, name, life, records } = client
  const terms = drawn(client)
  const names = sharedNames(records.options.locks)
  const first = random.between(0, names.length)
  const count = random.between(1, names.length + 1)
  const keys = Array.from({ length: count }, (_, i) => names[(first + i) % names.length] as string)
  const wanted = keys.map((key) => ({
    key,
    mode: random.pick(['exclusive', 'exclusive', 'shared'] as const),
  }))
  const set = await store.locks.acquireAll(wanted, terms)
  for (const { key, mode } of wanted) {
    const token = set.tokens.get(key) as number
    if (mode === 'shared') world.holds.began(name, life, key, token, () => set.held, { permits: 1, of: 0 })
    else world.holds.began(name, life, key, token, () => set.held)
  }
  await work(client, keys[0] as string, set)
  await leave(client, set, terms)
}

/** Acquires one lock inside another one, in any order. Two such callers may wait for each other. */
async function crosses(world: WholeWorld, client: Client, outer: string): Promise<void> {
  const { random, store, name, life, records } = client
  const others = sharedNames(records.options.locks).filter((one) => one !== outer)
  const inner = random.pick([...others, ...others, SEMAPHORE])
  const flow = random.chance(0.4) ? { flow: records.word() } : {}
  const mode = random.pick(['exclusive', 'exclusive', 'shared'] as const)
  const share = mode === 'shared' ? { permits: 1, of: 0 } : undefined
  await store.locks.withLock(outer, { ...drawn(client), ...flow, mode }, async (hold) => {
    world.holds.began(name, life, outer, hold.token, () => hold.held, share)
    await client.sleep(random.between(1, 200))
    await (inner === SEMAPHORE ? takesPermits : random.pick([writes, writes, reads, takesAll]))(
      world,
      client,
      inner,
    )
  })
}

async function takesPermits(world: WholeWorld, client: Client): Promise<void> {
  const terms = drawn(client)
  const permits = client.random.pick([1, 1, 2, PERMITS])
  const permit = await client.store.semaphores.acquire(SEMAPHORE, { ...terms, permits, of: PERMITS })
  const share = { permits, of: PERMITS }
  world.holds.began(client.name, client.life, SEMAPHORE, permit.token, () => permit.held, share)
  await work(client, SEMAPHORE, permit)
  await leave(client, permit, terms)
}

async function leads(world: WholeWorld, client: Client): Promise<void> {
  const { renew: _, ...terms } = drawn(client)
  const leadership = await client.store.elections.campaign(ELECTION, {
    ...terms,
    value: client.records.word(),
  })
  const key = `${SHARED_PREFIX}${ELECTION}`
  world.holds.began(client.name, client.life, key, leadership.token, () => leadership.held)
  if (client.random.chance(0.5)) await leadership.proclaim(client.records.word())
  await work(client, ELECTION, leadership)
  await leadership.resign()
}

type Drawn = ReturnType<typeof drawn>
type Held = Hold<'string'> | HoldSet<'string'> | Permit<'string'> | Leadership<'string'>

async function work(client: Client, key: string, hold: Held): Promise<void> {
  const { random, life, records, store } = client
  const end = life.clock.now() + random.between(1, 600)
  while (hold.held && life.clock.now() < end && !records.stopping) {
    const at = `guarded/${key}`
    if (random.chance(0.3))
      await hold.kv.put(at, records.word(), { timeout: 1_000 }).catch((error) => records.fault(error))
    if (random.chance(0.15) && 'rotate' in hold) {
      const { token } = hold
      await hold.rotate().catch((error) => records.fault(error))
      // A write with the old token is refused after the entry of the rotation.
      const guard = { key, token, shared: true }
      await store.put(at, records.word(), { guard, timeout: 1_000 }).catch((error) => records.fault(error))
    }
    if (random.chance(0.3) && 'rotate' in hold) {
      const guard = { key, token: hold.token, shared: true }
      await store.put(at, records.word(), { guard, timeout: 1_000 }).catch((error) => records.fault(error))
    }
    await client.sleep(random.between(1, 120))
  }
}

/** Some holds without renewals are not released and end with their leases. */
async function leave({ random }: Client, hold: Held, { renew }: Drawn): Promise<void> {
  if (renew || random.chance(0.7)) await hold.release()
}
