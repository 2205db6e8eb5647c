// Driver: thousands of watchers, of waiters, of sessions: what they cost everybody else, and whether each
// gets what is its own.

import { connect, type Store } from '@latchkey/client'
import type { Cluster } from '@latchkey/test-chaos/cluster'
import { measure, round } from '../measure.js'
import { pause } from '../pause.js'
import { cpuOf, residentMiB } from '../processes.js'
import { inSteps } from '../steps.js'
import type { LatchkeyScene, Stage } from './scene.js'

const CALLERS = 16
const VALUE = new Uint8Array(100).fill(120)

async function putsBeside(what: string, cluster: Cluster, stage: Stage): Promise<number> {
  const store = await connect(cluster.urls)
  let puts = 0
  const call = async (caller: number) => {
    const done = (await store.put(`beside/${caller}`, VALUE)).revision > 0
    if (done) puts++
    return done
  }
  stage.row({
    system: 'Latchkey',
    load: `put 100 B, ${what}`,
    ...(await measure(call, { ...stage, callers: CALLERS })),
  })
  await store.close()
  return puts
}

export const watchers: LatchkeyScene = {
  name: 'watchers',
  about: 'puts while nobody watches, while thousands watch other keys, and while a hundred watch these',
  on: 'latchkey',
  async run({ cluster }, stage) {
    await putsBeside('nobody watches', cluster, stage)
    const crowd = stage.quick ? 200 : 2_000
    const others = await Crowd.watch(cluster, crowd, (i) => `elsewhere/${i}`)
    await putsBeside(`${crowd} watch other keys`, cluster, stage)
    await others.close()
    const few = stage.quick ? 10 : 100
    const these = await Crowd.watch(cluster, few, () => 'beside/')
    const puts = await putsBeside(`${few} watch these keys`, cluster, stage)
    await these.until(puts * few)
    stage.fact('watchers.events', `events that ${few} watchers received for ${puts} puts`, these.seen, '')
    await these.close()
    if (these.seen !== puts * few) throw new Error(`watchers saw ${these.seen} events of ${puts * few}`)
  },
}

/** A connection has a thousand of them at the most. */
const WATCHES_A_CLIENT = 500

class Crowd {
  seen = 0
  readonly #stores: Store[] = []
  readonly #stops: AbortController[] = []
  readonly #ends: Promise<void>[] = []
  #failure: Error | undefined

  static async watch(cluster: Cluster, count: number, prefixOf: (i: number) => string): Promise<Crowd> {
    const crowd = new Crowd()
    for (let i = 0; i < count; i++) {
      if (i % WATCHES_A_CLIENT === 0) crowd.#stores.push(await connect(cluster.urls))
      crowd.#ends.push(crowd.#look(crowd.#stores.at(-1) as Store, prefixOf(i)))
    }
    // A watch begins after the revision at the moment of its call, whenever its first question is answered.
    for (const store of crowd.#stores) await store.get('beside/0')
    return crowd
  }

  async #look(store: Store, prefix: string): Promise<void> {
    const stop = new AbortController()
    this.#stops.push(stop)
    try {
      for await (const _ of store.watch({ prefix }, { signal: stop.signal })) this.seen++
    } catch (error) {
      if (!stop.signal.aborted) this.#failure ??= error as Error
    }
  }

  /** Waits until so many events have come; gives up when none comes for a while. */
  async until(count: number): Promise<void> {
    for (let before = -1; this.seen < count && this.seen !== before; ) {
      before = this.seen
      await pause(2_000)
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop.abort()
    await Promise.all(this.#ends)
    for (const store of this.#stores) await store.close()
    if (this.#failure !== undefined) throw this.#failure
  }
}

export const waiters: LatchkeyScene = {
  name: 'waiters',
  about: 'puts while thousands wait for one lock; then the lock is passed through all of them',
  on: 'latchkey',
  async run({ cluster }, stage) {
    const count = stage.quick ? 500 : 5_000
    const store = await connect(cluster.urls)
    const first = await store.locks.acquire('queue', { lease: '2m', renew: false })
    let served = 0
    const queue = Array.from({ length: count }, async () => {
      const hold = await store.locks.acquire('queue', { lease: '2m', wait: '2m', renew: false })
      served++
      await hold.release()
    })
    // Handled from here on; whoever fails is told below.
    const all = Promise.allSettled(queue)
    await putsBeside(`${count} wait for a lock`, cluster, stage)
    const [info] = await store.locks.query('queue')
    stage.fact('waiters.queued', 'waiters in the queue of one lock', info?.waiters ?? 0, '')
    const began = performance.now()
    await first.release()
    await all
    const seconds = (performance.now() - began) / 1000
    stage.fact(
      'waiters.drained',
      `${served} waiters, served one after the other`,
      round(served / seconds),
      'locks/s',
    )
    await store.close()
    if (served !== count) throw new Error(`${served} of ${count} waiters were served`)
  },
}

export const sessions: LatchkeyScene = {
  name: 'sessions',
  about: 'a thousand idle clients, each with a connection, a session and a lock: what a member pays for them',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    const count = stage.quick ? 100 : 1_000
    const pids = cluster.members.map((member) => member.pid as number)
    const memory = () => Math.max(...pids.map(residentMiB))
    const before = memory()
    const stores = await inSteps(Array.from({ length: count }), 50, () => connect(cluster.urls))
    const holds = await inSteps([...stores.entries()], 50, ([i, store]) =>
      store.locks.acquire(`session/${i}`, { lease: '60s' }),
    )
    await pause(2_000)
    const cpu = await cpuOf(pids, stage.quick ? 2 : 10)
    stage.fact('sessions.count', 'idle clients, each with a session and a lock', stores.length, '')
    stage.fact(
      'sessions.cpu',
      "the busiest member's part of a core during this time",
      round(Math.max(...cpu), 3),
      'cores',
    )
    stage.fact(
      'sessions.memory',
      'additional memory of the largest member for these clients',
      memory() - before,
      'MiB',
    )
    await putsBeside(`${count} idle clients`, cluster, stage)
    if (!holds.every((hold) => hold.held)) throw new Error('a lock was lost')
    await inSteps(holds, 50, (hold) => hold.release())
    await inSteps(stores, 50, (store) => store.close())
  },
}
