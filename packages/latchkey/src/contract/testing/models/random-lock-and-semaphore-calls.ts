// Driver: random calls of locks, semaphores, elections and lock sets on a cluster whose clock stands still
// between the calls. After each call, the stores must show the same holders, queues and answers as the model.

import assert from 'node:assert/strict'
import { nextTurn, type Random } from '@latchkey/base'
import type { Store } from '@latchkey/client'
import { isLatchkeyError, type LockInfo } from '@latchkey/protocol'
import { type Held, HeldModel, type Wants } from './lock-and-semaphore-model.js'

export interface World {
  readonly stores: readonly Store[]
  readonly random: Random
  /** All keys of this run begin with this prefix, and no other run uses such keys. */
  readonly prefix: string
  /** Counts an event of the run by name. A test checks that each kind of event has happened. */
  count(what: string): void
  advance(ms: number): Promise<void>
}

interface AnyHold {
  readonly held: boolean
  release(): Promise<void>
}
interface Person {
  readonly store: Store
  readonly wants: Wants
  readonly isSet: boolean
  readonly abort: AbortController
  hold?: AnyHold & { readonly token?: number; rotate?(): Promise<number>; downgrade?(): Promise<void> }
  /** Why the caller has no hold: the code of an error, or 'none' if the lock was not free. */
  refusal?: string
  /** True if an administrator has ended the hold. The holder may not know that yet. */
  isForced: boolean
}

const LOCKS = ['lock/a', 'lock/b', 'lock/c']
const SEMAPHORES = ['semaphore/s', 'semaphore/t']
const ELECTIONS = ['election/e']
/**
 * In ms. Time advances by whole seconds. A holder that does not renew gives up its lock early, by up to a
 * hundredth of the lease. A wait also ends a little early. With these values, no two of these ends fall at
 * the same time.
 */
const LEASES = [10_450, 10_650, 10_850, 15_450, 15_650, 15_850]
const WAITS = [5_250, 8_250, 12_250, 20_250]
/** In ms. If two leases or waits end within less than this time, the model does not know which ends first. */
const CLOSE_MS = 190
/**
 * How many times the test reads the cluster before it reports a difference. The test yields to the event loop
 * before each read.
 */
const TURNS = 400

export class HeldRun {
  readonly model = new HeldModel()
  readonly #world: World
  readonly #people = new Map<string, Person>()
  readonly #tokens = new Map<string, { any: number; exclusive: number; seen: Set<string> }>()
  #number = 0
  what = ''
  /** The model before this step, as text for the message of a failed test. */
  #before = ''

  constructor(world: World) {
    this.#world = world
  }

  get #random(): Random {
    return this.#world.random
  }

  /**
   * Makes one random step. Returns false if the model cannot know the result of the step. The run then ends
   * without a failure.
   */
  async step(): Promise<boolean> {
    const { model } = this
    const what = this.#random.pick(
      model.line.length > 8
        ? ['release', 'abort', 'time']
        : [
            'ask',
            'ask',
            'ask',
            'ask',
            'set',
            'release',
            'release',
            'abort',
            'time',
            'time',
            'change',
            'change',
          ],
    )
    this.what = what
    this.#before = stateOf(model)
    if (what === 'time') {
      if (!(await this.#advance(this.#random.between(1, 10) * 1_000))) return false
    } else if (what === 'ask') this.#ask()
    else if (what === 'set') this.#askForSet()
    else if (what === 'release') await this.#release()
    else if (what === 'abort') this.#abort()
    else await this.#change()
    await this.#compare()
    return true
  }

  /** Ends all waits and releases all holds. */
  async end(): Promise<void> {
    for (const { abort } of this.#people.values()) abort.abort()
    for (const { hold } of this.#people.values()) await hold?.release()
  }

  async #advance(ms: number): Promise<boolean> {
    const { model } = this
    if (!isCertain([...model.held, ...model.line], model.now + ms)) return false
    await this.#world.advance(ms)
    for (const { until } of model.held) if (until < model.now + ms) this.#world.count('expired')
    model.advance(model.now + ms)
    return true
  }

  #come(wants: Wants, isSet: boolean): { who: string; person: Person } {
    const who = `p${++this.#number}`
    const store = this.#random.pick(this.#world.stores)
    const person: Person = { store, wants, isSet, abort: new AbortController(), isForced: false }
    this.#people.set(who, person)
    return { who, person }
  }

  #ask(): void {
    const key = this.#random.pick([...LOCKS, ...SEMAPHORES, ...ELECTIONS])
    if (ELECTIONS.includes(key)) return this.#campaign(key)
    const isSemaphore = SEMAPHORES.includes(key)
    const permits = isSemaphore ? this.#random.between(1, 4) : this.#random.between(0, 2)
    const { who, person } = this.#come([[key, permits]], false)
    const { store } = person
    const terms = this.#terms(who, person)
    const name = this.#name(key)
    const mode = permits === 0 ? ('exclusive' as const) : ('shared' as const)
    const of = this.model.sizes.get(key) ?? this.#random.between(3, 6)
    if (isSemaphore) this.model.sizes.set(key, of)
    const asked = isSemaphore
      ? this.#call(
          terms,
          (more) => store.semaphores.acquire(name, { of, permits, ...more }),
          (more) => store.semaphores.tryAcquire(name, { of, permits, ...more }),
        )
      : this.#call(
          terms,
          (more) => store.locks.acquire(name, { mode, ...more }),
          (more) => store.locks.tryAcquire(name, { mode, ...more }),
        )
    this.#await(who, person, terms, asked)
  }

  #askForSet(): void {
    const start = this.#random.between(0, 3)
    const count = this.#random.between(2, 4)
    const keys = Array.from({ length: count }, (_, i) => LOCKS[(start + i) % 3] as string)
    const { who, person } = this.#come(
      keys.map((key) => [key, this.#random.pick([0, 0, 1])] as const),
      true,
    )
    const list = person.wants.map(([key, permits]) => ({
      key: this.#name(key),
      mode: permits === 0 ? ('exclusive' as const) : ('shared' as const),
    }))
    const terms = this.#terms(who, person)
    const { locks } = person.store
    const asked = this.#call(
      terms,
      (more) => locks.acquireAll(list, more),
      (more) => locks.tryAcquireAll(list, more),
    )
    this.#await(who, person, terms, asked)
  }

  /** Starts a campaign. The store always renews a leadership, so its lease never ends here. */
  #campaign(key: string): void {
    const { who, person } = this.#come([[key, 0]], false)
    const wait = this.#random.pick(WAITS)
    const asked = person.store.elections.campaign(this.#name(key), {
      value: who,
      wait,
      signal: person.abort.signal,
    })
    this.#await(who, person, { lease: Infinity, wait }, asked)
  }

  #terms(who: string, { abort }: Person) {
    const lease = this.#random.pick(LEASES)
    const wait = this.#random.pick([undefined, Infinity, ...WAITS])
    return { lease, wait, more: { context: who, lease, renew: false, signal: abort.signal } }
  }

  #call<More extends object, H>(
    { wait, more }: { wait: number | undefined; more: More },
    acquire: (more: More & { wait?: number }) => Promise<H>,
    attempt: (more: More) => Promise<H | undefined>,
  ): Promise<H | undefined> {
    if (wait === undefined) return attempt(more)
    return acquire(wait === Infinity ? more : { ...more, wait })
  }

  #await(
    who: string,
    person: Person,
    { lease, wait }: { lease: number; wait: number | undefined },
    asked: Promise<AnyHold | undefined>,
  ): void {
    this.what += ` ${who} ${JSON.stringify(person.wants)} wait ${wait}`
    this.model.ask(who, person.wants, person.isSet, lease, wait)
    asked.then(
      (hold) => {
        if (hold === undefined) person.refusal = 'none'
        else person.hold = hold
        const waited = this.model.held.some((held) => held.who === who && held.isGuess)
        this.#world.count(hold === undefined ? 'refused' : waited ? 'granted after a wait' : 'granted')
      },
      (error: unknown) => {
        person.refusal = isLatchkeyError(error) ? error.code : String(error)
        this.#world.count(person.refusal)
      },
    )
  }

  #holder(fits: (held: Held, person: Person) => boolean): { held: Held; person: Person } | undefined {
    const all = this.model.held
      .map((held) => ({ held, person: this.#people.get(held.who) as Person }))
      .filter(({ held, person }) => person.hold?.held === true && fits(held, person))
    return all.length === 0 ? undefined : this.#random.pick(all)
  }

  async #release(): Promise<void> {
    const found = this.#holder(() => true)
    if (found === undefined) return
    this.what += ` ${found.held.who}`
    this.model.leave(found.held.who)
    await found.person.hold?.release()
  }

  #abort(): void {
    if (this.model.line.length === 0) return
    const { who } = this.#random.pick(this.model.line)
    this.what += ` ${who}`
    this.model.leave(who)
    this.#people.get(who)?.abort.abort()
  }

  async #change(): Promise<void> {
    const what = this.#random.pick(['rotate', 'downgrade', 'resize', 'force'])
    this.what = what
    if (what === 'resize') {
      const key = this.#random.pick(SEMAPHORES)
      if (!this.model.sizes.has(key)) return
      const of = this.#random.between(3, 6)
      this.#world.count(what)
      this.model.resize(key, of)
      await this.#random.pick(this.#world.stores).semaphores.resize(this.#name(key), of)
      return
    }
    const found = this.#holder(({ key }, { isSet }) => LOCKS.includes(key) && !isSet)
    if (found === undefined) return
    const { held, person } = found
    const { hold } = person
    this.what += ` ${held.who}`
    this.#world.count(what)
    if (what === 'rotate') await hold?.rotate?.()
    else if (what === 'downgrade') {
      this.model.downgrade(held)
      await hold?.downgrade?.()
    } else {
      person.isForced = true
      this.model.leave(held.who)
      const { locks } = this.#random.pick(this.#world.stores)
      assert.ok(await locks.forceRelease(this.#name(held.key), hold?.token as number))
    }
  }

  #name(key: string): string {
    return `${this.#world.prefix}${key.slice(key.indexOf('/') + 1)}`
  }

  async #compare(): Promise<void> {
    for (let turns = 0; ; turns++) {
      const difference = await this.#difference()
      if (difference === undefined) return
      if (turns === TURNS) assert.deepEqual(...difference, `${this.what}, before: ${this.#before}`)
      await new Promise<void>((resolve) => nextTurn(resolve))
    }
  }

  async #difference(): Promise<[unknown, unknown] | undefined> {
    const { locks } = this.#random.pick(this.#world.stores)
    const rows = await locks.query(this.#world.prefix, { kind: 'all', queue: true, as: 'string' })
    const real = [...shownOf(rows, this.#world.prefix), ...this.#answers()].sort()
    const expected = [...this.#expected(), ...this.#expectedAnswers()].sort()
    if (JSON.stringify(real) !== JSON.stringify(expected)) return [real, expected]
    this.#checkRows(rows)
    return undefined
  }

  #expected(): string[] {
    const { model } = this
    return model.held.map(
      ({ key, who, permits }) => `${key} ${who} ${permits} before ${model.queueOf(key).join(' ')}`,
    )
  }

  /** Returns for each caller one of 'waits', 'hold' and 'none'. */
  #answers(): string[] {
    return [...this.#people].map(
      ([who, { hold, refusal }]) =>
        `${who}: ${hold !== undefined ? 'hold' : refusal === undefined ? 'waits' : 'none'}`,
    )
  }

  #expectedAnswers(): string[] {
    const { held, line } = this.model
    return [...this.#people].map(([who, { hold }]) => {
      const isHolder = hold !== undefined || held.some((one) => one.who === who)
      const waits = line.some((one) => one.who === who)
      return `${who}: ${waits ? 'waits' : isHolder ? 'hold' : 'none'}`
    })
  }

  /**
   * Checks deadlines and fencing tokens. Also checks that no caller has a hold that the store does not have.
   */
  #checkRows(rows: readonly LockInfo<'string'>[]): void {
    const { model } = this
    for (const row of rows) {
      const key = keyOf(row, this.#world.prefix)
      const who = contextOf(row)
      const held = model.held.find((one) => one.key === key && one.who === who) as Held
      this.#checkToken(key, row)
      if (!LOCKS.includes(key) && !SEMAPHORES.includes(key)) continue
      const until = model.now + row.remainingMillis
      assert.ok(
        Math.abs(until - held.until) < CLOSE_MS,
        `${this.what}: ${key} ends at ${until}, not ${held.until}`,
      )
      if (held.isGuess) Object.assign(held, { until, isGuess: false })
    }
    for (const [who, { hold, isForced }] of this.#people)
      if (hold?.held === true && !isForced)
        assert.ok(
          model.held.some((one) => one.who === who),
          `${this.what}: ${who} believes that it holds`,
        )
  }

  /**
   * Checks a fencing token. An exclusive hold must have a higher token than all earlier holds. A shared hold
   * must have a higher token than all earlier exclusive holds.
   */
  #checkToken(key: string, { id, fencingToken, mode, kind }: LockInfo<'string'>): void {
    const tokens = this.#tokens.get(key) ?? { any: 0, exclusive: 0, seen: new Set<string>() }
    this.#tokens.set(key, tokens)
    if (tokens.seen.has(`${id} ${fencingToken}`)) return
    tokens.seen.add(`${id} ${fencingToken}`)
    const isAlone = mode === 'exclusive' && kind !== 'semaphore'
    const least = isAlone ? tokens.any : tokens.exclusive
    assert.ok(fencingToken > least, `${this.what}: the token ${fencingToken} of ${key} comes after ${least}`)
    tokens.any = Math.max(tokens.any, fencingToken)
    if (isAlone) tokens.exclusive = fencingToken
  }
}

/** Returns whether the model knows which holds and waits end before the time `to`, and in which order. */
function isCertain(all: readonly { readonly who: string; readonly until: number }[], to: number): boolean {
  const byWho = new Map(all.map(({ who, until }) => [who, until]))
  const ends = [...byWho.values()].filter((end) => end < to + CLOSE_MS).sort((a, b) => a - b)
  const isApart = ends.every((end, i) => i === 0 || end - (ends[i - 1] as number) >= CLOSE_MS)
  return isApart && ends.every((end) => Math.abs(end - to) >= CLOSE_MS / 2)
}

const stateOf = ({ now, held, line }: HeldModel): string =>
  JSON.stringify({
    now,
    held: held.map(({ key, who, permits, arrival, until }) => `${key} ${who} ${permits} ${arrival} ${until}`),
    line: line.map(({ who, wants, arrival, until }) => `${who} ${wants.join(' ')} ${arrival} ${until}`),
  })

const contextOf = ({ context }: { readonly context: unknown }): string =>
  context instanceof Uint8Array ? Buffer.from(context).toString() : String(context)

const keyOf = ({ kind, key }: LockInfo<'string'>, prefix: string) => `${kind}/${key.slice(prefix.length)}`

function shownOf(rows: readonly LockInfo<'string'>[], prefix: string): string[] {
  return rows.map((row) => {
    const permits = row.permits ?? (row.mode === 'exclusive' ? 0 : 1)
    const queue = (row.queue ?? []).map(contextOf).join(' ')
    return `${keyOf(row, prefix)} ${contextOf(row)} ${permits} before ${queue}`
  })
}
