// Test: processes share locks under random faults: lost and late messages, cut links, ended sessions, clocks
// that jump, leaders whose cluster time stops. At each checked millisecond, only the hold that is in force
// may be reported as held.

import { type Random, binary, seededRandom, utf8 } from '@latchkey/base'
import { LatchkeyError, isLatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { overAt } from '../rules/hold-checks-and-answers.js'
import { type FakePort, FakeStore } from '../testing/fake-store.js'
import { World, settle } from '../testing/virtual-time.js'
import type { DistributedLock } from './distributed-lock.js'
import { Locking } from './lock-apis-of-store.js'
import { Watchdog } from './renewing-watchdog.js'

const KEYS = ['x', 'y']
const STORM = 20_000
const CALM = 60_000

interface Actor {
  readonly key: string
  readonly port: FakePort
  readonly lock: DistributedLock
}

class Storm {
  readonly world = new World()
  readonly store = new FakeStore(this.world)
  readonly actors: Actor[] = []
  readonly watchdog = new Watchdog()
  readonly surprises: unknown[] = []
  readonly counts = { held: 0, looks: 0, holds: 0 }
  readonly #random: Random
  #raging = true

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    for (let process = 0; process < 3; process++) this.#start()
  }

  #start(): void {
    const random = this.#random
    const port = this.store.connect({ delay: random.pick([0, 1, 5, 40]), life: 2_000 })
    const locking = new Locking(port)
    port.fault = () => (this.#raging && random.chance(0.15) ? this.#fault() : undefined)
    for (const key of KEYS) {
      const lease = random.pick([100, 500, 1_500, 5_000])
      const lock = locking.getDistributedLock(key, lease, random.chance(0.6) ? this.watchdog : undefined)
      this.actors.push({ key, port, lock })
      // Two callers of one object, so that reentry and a shared position in the queue occur.
      for (let flow = 0; flow < 2; flow++) void this.#live(lock)
    }
  }

  #fault() {
    const kinds = ['lose request', 'lose answer', 'arrive late', 'prove nothing'] as const
    return this.#random.chance(0.2) ? new LatchkeyError('ERR_NO_LEADER') : this.#random.pick(kinds)
  }

  async #live(lock: DistributedLock): Promise<void> {
    while (this.#raging) {
      try {
        await this.#sleep(this.#random.between(1, 200))
        if (await this.#enter(lock)) {
          this.counts.holds++
          await this.#sleep(this.#random.between(1, 800))
          await lock.unlock({ timeout: 1_000 })
        }
      } catch (error) {
        if (!isLatchkeyError(error)) this.surprises.push(error)
      }
    }
  }

  async #enter(lock: DistributedLock): Promise<boolean> {
    const random = this.#random
    const controller = new AbortController()
    if (random.chance(0.2)) this.world.after(random.between(1, 600), () => controller.abort())
    const { signal } = controller
    const got = await (random.chance(0.3)
      ? lock.tryLock({ signal })
      : lock.tryLock({ timeout: random.between(1, 3_000), signal }))
    // Law: tryLock resolves to true only while the lock is held. There is no await in between.
    if (got && !lock.held) this.surprises.push(new Error('tryLock gave true without a hold'))
    return got
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.world.after(ms, resolve))
  }

  /** The faults that hit a process or the leaders. */
  #strike(): void {
    const random = this.#random
    const { port } = random.pick(this.actors)
    const strikes = [
      () => port.cut(),
      () => port.heal(),
      () => port.heal(true),
      () => port.deliver(),
      () => void (port.pushes = !port.pushes),
      () => void (port.clock.offset.wall += random.between(-5_000, 5_000)),
      () => void (port.clock.offset.up += random.between(0, 1_000)),
      () => void (this.store.lag += random.between(0, 300)),
      () => this.world.stall(random.between(1, 1_000)),
    ]
    random.pick(strikes)()
  }

  async run(): Promise<void> {
    const end = this.world.now + STORM
    while (this.world.now < end) {
      if (this.#random.chance(0.1)) this.#strike()
      this.look()
      await this.world.advance(this.#random.between(1, 40))
      this.look()
    }
    await this.#calm()
  }

  /** Laws: a key has one holder, and that holder is the one of the row, in force at this very time. */
  look(): void {
    for (const key of KEYS) {
      const held = this.actors.filter((actor) => actor.key === key && actor.lock.held)
      this.counts.looks++
      this.counts.held += held.length
      if (held.length > 1) throw new Error(`two holders of ${key} at ${this.world.now}`)
      for (const { lock } of held) {
        const row = this.store.tx.hold(utf8(key))
        const inForce = row?.token === lock.getFencingToken() && this.store.time <= overAt(row)
        if (!inForce) throw new Error(`a promise of ${key} at ${this.world.now} without a hold`)
      }
    }
  }

  async #calm(): Promise<void> {
    this.#raging = false
    for (const { port } of this.actors) {
      port.pushes = true
      port.heal()
    }
    await this.world.advance(CALM)
    this.look()
  }
}

test('random faults: never two holders and no promise without a hold; afterwards every lock is free and no timer is left', async () => {
  let holds = 0
  const [first = 1, count = 25] = (process.env['STORM_SEEDS'] ?? '1,25').split(',').map(Number)
  for (let seed = first; seed < first + count; seed++) {
    const storm = new Storm(seed)
    await storm.run().catch((error: Error) => Promise.reject(new Error(`seed ${seed}: ${error.message}`)))
    expect(storm.surprises, `seed ${seed}`).toEqual([])
    expect(storm.counts.held, `seed ${seed}`).toBeGreaterThan(0)
    holds += storm.counts.holds
    const { tx } = storm.store
    const left = KEYS.map((key) => [
      tx.queue(utf8(key)).length,
      inForce(tx.holds.get(binary(utf8(key))), storm.store.time),
    ])
    expect(left, `seed ${seed}`).toEqual(KEYS.map(() => [0, false]))
    await settle()
    const ports = new Set(storm.actors.map(({ port }) => port))
    expect(
      [...ports].map((port) => [port.listeners, port.clock.timers]),
      `seed ${seed}`,
    ).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ])
  }
  expect(holds).toBeGreaterThan(500)
})

function inForce(row: Parameters<typeof overAt>[0] | undefined, now: number): boolean {
  return row !== undefined && now <= overAt(row)
}
