// Driver: random calls of latches and barriers. After each call, the store's answers must equal the answers
// of a model of docs/latches.md, which is an array of waiting callers.

import assert from 'node:assert/strict'
import { nextTurn } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'
import type { World } from './random-lock-and-semaphore-calls.js'

interface WaitingCaller {
  readonly name: string
  /** In ms. The wait of this caller ends when the time is later than this. */
  readonly until: number
  readonly abort: AbortController
  /**
   * The answers to this caller: `expected` from the model, and `real` from the store. The value is 'waits'
   * before the answer.
   */
  expected: string
  real: string
}

const LATCHES = ['latch/x', 'latch/y']
const BARRIERS = ['barrier/x', 'barrier/y']
const WAITS = [Infinity, Infinity, 3_500, 12_500]
const TURNS = 400

export class LatchAndBarrierRun {
  readonly #world: World
  readonly #latches = new Map<string, number>()
  /**
   * `over` is the number of generations of the barrier that have ended. `parties` is how many callers the
   * present generation needs.
   */
  readonly #barriers = new Map<string, { over: number; parties: number }>()
  #everybody: WaitingCaller[] = []
  #now = 0

  constructor(world: World) {
    this.#world = world
  }

  async step(): Promise<boolean> {
    const { random } = this.#world
    const what = random.pick([
      'create',
      'down',
      'down',
      'remove',
      'wait',
      'wait',
      'wait',
      'enter',
      'enter',
      'enter',
      'enter',
      'abort',
      'time',
    ])
    if (what === 'create') await this.#create()
    else if (what === 'down') await this.#countDown()
    else if (what === 'remove') await this.#remove()
    else if (what === 'wait') this.#wait()
    else if (what === 'enter') this.#enter()
    else if (what === 'abort') this.#abort()
    else await this.#time()
    await this.#compare(what)
    return true
  }

  async end(): Promise<void> {
    for (const { abort } of this.#everybody) abort.abort()
    const { stores, prefix } = this.#world
    for (const name of LATCHES) await stores[0]?.latches.remove(prefix + name)
  }

  #waiting(name: string): WaitingCaller[] {
    return this.#everybody.filter((one) => one.name === name && one.expected === 'waits')
  }

  #open(name: string, how: string): void {
    for (const one of this.#waiting(name)) one.expected = how
  }

  get #store() {
    return this.#world.random.pick(this.#world.stores)
  }

  async #create(): Promise<void> {
    const name = this.#world.random.pick(LATCHES)
    const count = this.#world.random.between(0, 6)
    const isNew = !this.#latches.has(name)
    if (isNew) this.#latches.set(name, count)
    assert.equal(await this.#store.latches.create(this.#world.prefix + name, count), isNew)
  }

  async #countDown(): Promise<void> {
    const name = this.#world.random.pick(LATCHES)
    const by = this.#world.random.between(1, 4)
    const before = this.#latches.get(name)
    const answer = this.#store.latches.countDown(this.#world.prefix + name, by)
    if (before === undefined) return assert.rejects(answer, { code: 'ERR_MISMATCH' })
    const left = Math.max(0, before - by)
    this.#latches.set(name, left)
    if (left === 0) this.#open(name, 'open')
    assert.equal(await answer, left)
  }

  async #remove(): Promise<void> {
    const name = this.#world.random.pick(LATCHES)
    this.#open(name, 'ERR_MISMATCH')
    assert.equal(await this.#store.latches.remove(this.#world.prefix + name), this.#latches.delete(name))
  }

  #come(name: string, expected: string, ask: (wait: number, signal: AbortSignal) => Promise<unknown>): void {
    const wait = this.#world.random.pick(WAITS)
    const abort = new AbortController()
    const one: WaitingCaller = { name, until: this.#now + wait, abort, expected, real: 'waits' }
    this.#everybody.push(one)
    ask(wait, abort.signal).then(
      (answer) => {
        one.real = answer === undefined ? 'open' : JSON.stringify(answer)
        this.#world.count(answer === undefined ? 'open' : 'passed')
      },
      (error: unknown) => {
        one.real = isLatchkeyError(error) ? error.code : String(error)
        this.#world.count(one.real)
      },
    )
  }

  #wait(): void {
    const name = this.#world.random.pick(LATCHES)
    const count = this.#latches.get(name)
    const expected = count === undefined ? 'ERR_MISMATCH' : count === 0 ? 'open' : 'waits'
    const { latches } = this.#store
    this.#come(name, expected, (wait, signal) =>
      latches.wait(this.#world.prefix + name, wait === Infinity ? { signal } : { timeout: wait, signal }),
    )
  }

  #enter(): void {
    const name = this.#world.random.pick(BARRIERS)
    const parties = this.#world.random.pick([1, 2, 3, 3, 3, 5])
    const others = this.#waiting(name)
    const here = this.#barriers.get(name) ?? { over: 0, parties }
    this.#barriers.set(name, here)
    if (others.length === 0) here.parties = parties
    const all = [...others]
    const { barriers } = this.#store
    const isMismatch = here.parties !== parties
    this.#come(name, isMismatch ? 'ERR_MISMATCH' : 'waits', (wait, signal) =>
      barriers.enter(this.#world.prefix + name, {
        parties,
        signal,
        ...(wait === Infinity ? {} : { wait }),
      }),
    )
    all.push(this.#everybody.at(-1) as WaitingCaller)
    if (isMismatch || all.length < parties) return
    here.over++
    all.forEach((one, index) => {
      one.expected = JSON.stringify({ generation: here.over, index })
    })
  }

  #abort(): void {
    const all = this.#everybody.filter(({ expected }) => expected === 'waits')
    if (all.length === 0) return
    const one = this.#world.random.pick(all)
    one.expected = 'ERR_ABORTED'
    one.abort.abort()
  }

  async #time(): Promise<void> {
    const ms = this.#world.random.between(1, 8) * 1_000
    await this.#world.advance(ms)
    this.#now += ms
    for (const one of this.#everybody)
      if (one.expected === 'waits' && one.until < this.#now) one.expected = 'ERR_TIMEOUT'
  }

  async #compare(what: string): Promise<void> {
    for (let turns = 0; ; turns++) {
      const real = [await this.#shown(), this.#everybody.map((one) => one.real)]
      const expected = [this.#expected(), this.#everybody.map((one) => one.expected)]
      if (JSON.stringify(real) === JSON.stringify(expected)) break
      if (turns === TURNS) assert.deepEqual(real, expected, what)
      await new Promise<void>((resolve) => nextTurn(resolve))
    }
    this.#everybody = this.#everybody.filter(({ real }) => real === 'waits')
  }

  async #shown(): Promise<unknown[]> {
    const { prefix } = this.#world
    const { latches, barriers } = this.#store
    const [open, met] = await Promise.all([
      latches.query(prefix, { as: 'string' }),
      barriers.query(prefix, { as: 'string' }),
    ])
    return [
      ...open.map(({ name, count, waiters }) => [name.slice(prefix.length), count, waiters]),
      ...met.map(({ name, generation, parties, waiters }) => [
        name.slice(prefix.length),
        generation,
        parties,
        waiters,
      ]),
    ]
  }

  #expected(): unknown[] {
    const latches = [...this.#latches].sort(([a], [b]) => (a < b ? -1 : 1))
    const met = BARRIERS.filter((name) => this.#waiting(name).length > 0)
    return [
      ...latches.map(([name, count]) => [name, count, this.#waiting(name).length]),
      ...met.map((name) => {
        const { over, parties } = this.#barriers.get(name) as { over: number; parties: number }
        return [name, over + 1, parties, this.#waiting(name).length]
      }),
    ]
  }
}
