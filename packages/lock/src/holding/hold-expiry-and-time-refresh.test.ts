// Test: the single timer for all holds of a store ends each hold in time, while holds are added, removed and
// renewed, and while clocks jump.

import { EMPTY, seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { ProcessClock, settle, World } from '../testing/virtual-time.js'
import { ClusterTimeBound } from './cluster-time-bound.js'
import { NOT_IN_SET } from './indexed-set.js'
import { ClusterTimeRefresh } from './hold-expiry-and-time-refresh.js'
import type { LockPort } from './lock-port-interface.js'
import { HoldValidity } from './hold-validity.js'

/** How many milliseconds a timer may be late and a bound may be rounded. */
const SLACK = 3

class Trial {
  readonly random
  readonly world = new World()
  readonly clock = new ProcessClock(this.world)
  readonly bound = new ClusterTimeBound()
  readonly boundRenewal: ClusterTimeRefresh
  readonly port: LockPort
  readonly held = new Set<HoldValidity>()
  /** Since when each hold cannot be promised any more, for the holds that were not ended yet. */
  readonly overdue = new Map<HoldValidity, number>()
  readonly deadlines = new Map<HoldValidity, number>()
  answers = true
  bentAt = Number.NEGATIVE_INFINITY
  waits: (() => void)[] = []

  constructor(seed: string) {
    this.random = seededRandom(seed)
    this.port = {
      clock: this.clock,
      bound: this.bound,
      decoding: { as: 'bytes', onUndecodable: 'error', prefix: EMPTY },
      closed: new AbortController().signal,
      read: () => this.#read(),
    } as unknown as LockPort
    this.boundRenewal = new ClusterTimeRefresh(this.port)
    this.#learn()
  }

  #learn(): void {
    const now = this.clock.instant()
    this.bound.learn(this.world.now, now, now)
  }

  async #read(): Promise<unknown> {
    const sent = this.clock.instant()
    const { now } = this.world
    await new Promise<void>((done) => this.world.after(this.answers ? 1 : 100, done))
    if (!this.answers) throw new Error('nobody answers')
    this.bound.learn(now, sent, this.clock.instant())
    return 1
  }

  hold(): void {
    const { random, world } = this
    const lease = random.pick([50, 60, 300, 1_000, 10_000, 60_000])
    const deadline = world.now + random.between(1, lease + 1)
    const of = { key: Uint8Array.of(1), id: 'me', lease, token: 1, deadline }
    const validity: HoldValidity = new HoldValidity(
      this.port,
      this.boundRenewal,
      of,
      this.clock.instant(),
      () => {
        this.held.delete(validity)
        // A listener that is notified of a loss may acquire another hold at once, remove other holds, or do
        // nothing.
        const next = random.between(0, 5)
        if (next === 0) this.hold()
        if (next === 1) this.letGo()
        if (next === 2) this.wait()
      },
    )
    this.deadlines.set(validity, deadline)
    this.held.add(validity)
  }

  letGo(): void {
    const all = [...this.held]
    const one = all[this.random.between(0, all.length + 1)]
    if (one === undefined) return
    one.releasing()
    this.held.delete(one)
  }

  prolong(): void {
    for (const one of this.held) {
      if (this.random.chance(0.5)) continue
      const deadline = this.world.now + one.lease
      const before = one.held
      one.prolong(deadline)
      if (before) this.deadlines.set(one, Math.max(deadline, this.deadlines.get(one) as number))
    }
  }

  wait(): void {
    const lease = this.random.pick([50, 1_000, 60_000])
    const waiting = { index: NOT_IN_SET, lease, remaining: () => Number.POSITIVE_INFINITY, lose: () => {} }
    this.boundRenewal.add(waiting, Number.POSITIVE_INFINITY)
    this.waits.push(() => this.boundRenewal.remove(waiting))
  }

  bend(): void {
    const { offset } = this.clock
    const { random } = this
    const which = random.between(0, 3)
    if (which === 0) offset.wall += random.pick([-3_600_000, -50, 50, 2_000, 3_600_000])
    if (which === 1) offset.up += random.pick([20, 2_000, 600_000])
    if (which === 2) this.world.stall(random.between(1, 3_000))
    this.bentAt = this.world.now
  }

  /** Checked at each millisecond in which the event loop is free. */
  judge(): void {
    const now = this.clock.instant()
    for (const one of this.held) {
      if (this.bound.remaining(this.deadlines.get(one) as number, now) > 0) {
        this.overdue.delete(one)
        continue
      }
      const since = this.overdue.get(one) ?? this.world.now
      this.overdue.set(one, since)
      // A clock that jumped is noticed within a third of this lease, or of a shorter one; otherwise the timer
      // is on time.
      const third = Math.max(10, one.lease / 3)
      const bent = since - this.bentAt <= third
      const late = this.world.now - since
      expect(late, `lease ${one.lease}, ${bent ? 'bent' : 'true'} clocks`).toBeLessThanOrEqual(
        (bent ? third : 0) + SLACK,
      )
    }
  }

  async step(): Promise<void> {
    const chance = this.random.between(0, 100)
    if (chance < 30) this.hold()
    else if (chance < 45) this.letGo()
    else if (chance < 60) this.prolong()
    else if (chance < 65) this.wait()
    else if (chance < 75) this.waits.pop()?.()
    else if (chance < 80) this.bend()
    else if (chance < 85) this.answers = !this.answers
    const most = this.random.pick([2, 20, 150])
    for (let ms = this.random.between(0, most); ms > 0; ms--) {
      await this.world.advance(1)
      this.judge()
    }
  }
}

test('CT6, K26: each hold is ended on time, and no timer is left at the end', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const trial = new Trial(`renewal of the bound ${seed}`)
    for (let step = 0; step < 150; step++)
      await trial.step().catch((error: Error) => {
        throw new Error(`seed ${seed}, step ${step}: ${error.message}`, { cause: error })
      })
    for (const one of [...trial.held]) one.releasing()
    for (const leave of trial.waits) leave()
    await trial.world.advance(200)
    await settle()
    expect(trial.clock.timers).toBe(0)
  }
})

// Without this law each store with a short lease asks a slow member a hundred times a second, and the member
// gets slower.
test('one read of the cluster time is under way, however short the leases and slow the answers; the next read follows it', async () => {
  const trial = new Trial('slow answers')
  let [underWay, most, asked] = [0, 0, 0]
  const { read } = trial.port
  trial.port.read = async (...args) => {
    asked++
    most = Math.max(most, ++underWay)
    return read(...args).finally(() => underWay--)
  }
  trial.answers = false
  const waiting = { index: NOT_IN_SET, lease: 60, remaining: () => Number.POSITIVE_INFINITY, lose: () => {} }
  trial.boundRenewal.add(waiting, Number.POSITIVE_INFINITY)
  await trial.world.advance(2_000)
  expect([most, asked >= 10, asked <= 20]).toEqual([1, true, true])
  trial.answers = true
  await trial.world.advance(400)
  expect(most).toBe(1)
  expect(asked).toBeGreaterThan(25)
  trial.boundRenewal.remove(waiting)
  await trial.world.advance(200)
  expect([underWay, trial.clock.timers]).toEqual([0, 0])
})
