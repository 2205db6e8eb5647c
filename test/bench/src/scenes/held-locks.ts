// Driver: many locks, permits or leaderships held by one client and renewed: what that costs each member.

import { connect, type Store } from '@latchkey/client'
import { Watchdog } from '@latchkey/lock'
import { round } from '../measure.js'
import { pause } from '../pause.js'
import { inSteps } from '../steps.js'
import { cpuOf } from '../processes.js'
import type { LatchkeyScene, Stage } from './scene.js'

const LEASE = '10s'
/** Renewals come at two thirds of the lease; here they find their rhythm. */
const SETTLE_MILLIS = 8_000
/** So many permits has a semaphore. */
const PERMITS = 100

interface Held {
  readonly held: boolean
  end(): Promise<unknown>
}

interface Kind {
  readonly name: string
  /** Takes number `i`. */
  take(store: Store, i: number, watchdog: Watchdog): Promise<Held>
}

const KINDS: readonly Kind[] = [
  {
    name: 'locks',
    async take(store, i, watchdog) {
      const lock = store.getDistributedLock(`held/${i}`, LEASE, watchdog)
      await lock.tryLock()
      return {
        get held() {
          return lock.held
        },
        end: () => lock.unlock(),
      }
    },
  },
  {
    name: 'permits',
    async take(store, i) {
      const permit = await store.semaphores.acquire(`held/${i % PERMITS}`, { of: PERMITS, lease: LEASE })
      return heldBy(permit, () => permit.release())
    },
  },
  {
    name: 'leaderships',
    async take(store, i) {
      const leadership = await store.elections.campaign(`held/${i}`, { value: 'me', lease: LEASE })
      return heldBy(leadership, () => leadership.resign())
    },
  },
]

const heldBy = (hold: { readonly held: boolean }, end: () => Promise<unknown>): Held => ({
  get held() {
    return hold.held
  },
  end,
})

export const heldLocks: LatchkeyScene = {
  name: 'held',
  about: '10,000 locks, then permits, then leaderships held by one client and renewed: the cost a member',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    const pids = cluster.members.map((member) => member.pid as number)
    const store = await connect(cluster.urls)
    for (const kind of KINDS) await hold(kind, store, pids, stage)
    await store.close()
  },
}

async function hold(
  { name, take }: Kind,
  store: Store,
  pids: readonly number[],
  stage: Stage,
): Promise<void> {
  const count = stage.quick ? 1_000 : 10_000
  const watchdog = new Watchdog()
  const holds = await inSteps([...Array(count).keys()], 500, (i) => take(store, i, watchdog))
  const taken = holds.filter(({ held }) => held).length
  await pause(stage.quick ? 1_000 : SETTLE_MILLIS)
  const before = await commitOf(store)
  const cpu = await cpuOf([...pids, process.pid], stage.quick ? 3 : 14)
  const entries = (await commitOf(store)) - before
  const still = holds.filter(({ held }) => held).length
  await inSteps(holds, 500, (one) => one.end())
  watchdog.close()
  const fact = (id: string, what: string, value: number, unit: string) =>
    stage.fact(`held.${name}.${id}`, `${name}: ${what}`, value, unit)
  fact('taken', 'held at once', taken, '')
  fact('still', 'of these still held at the end', still, '')
  fact('cpu', "the busiest member's part of a core", round(Math.max(...cpu.slice(0, -1)), 3), 'cores')
  fact('client', 'the client that holds them, part of a core', round(cpu.at(-1) ?? 0, 3), 'cores')
  fact('entries', 'log entries during this time', entries, '')
}

const commitOf = async (store: Store) => (await store.status()).commit
