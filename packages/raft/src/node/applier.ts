// Driver: owns the order in which committed entries reach the state machine. One call is in flight; what the core calls
// committed is durable in the own log already; nothing is applied while a snapshot is being swapped in, and nothing of before it after it (S3).

import { assert } from '@latchkey/base'
import { decodeMembership } from '../core/index.js'
import type { Entry, LogPosition, Membership } from '../core/types.js'
import type { Applied, AppliedState, StateMachine } from './state-machine.js'

/** How much one call applies at the most, so that a long catch-up does not hold up the loop (L21). */
const SLICE_ENTRIES = 256
const SLICE_BYTES = 4 * 1024 * 1024

export interface ApplierPorts {
  readonly machine: StateMachine
  /** Entries by index, as long as the core keeps them. */
  entry(index: number): Entry
  /** After each call, in order; `entries` are the ones applied. */
  applied(entries: readonly Entry[], results: readonly Applied[]): void
  failed(error: unknown): void
}

export class Applier {
  readonly #ports: ApplierPorts
  #state: AppliedState
  #committed = 0
  #busy = false
  #paused = false
  #stopped = false
  #whenIdle: (() => void)[] = []
  /** Grows with each installed snapshot: a call that began before it does not count any more. */
  #epoch = 0

  constructor(ports: ApplierPorts, state: AppliedState) {
    this.#ports = ports
    this.#state = state
  }

  get state(): AppliedState {
    return this.#state
  }

  get position(): LogPosition {
    return this.#state.position
  }

  get busy(): boolean {
    return this.#busy
  }

  /** There is more to apply. */
  get behind(): boolean {
    return this.#committed > this.#state.position.index
  }

  committed(index: number): void {
    this.#committed = Math.max(this.#committed, index)
  }

  /** `then` is called once no call is in flight; nothing is applied until `restart` or `resume`. */
  pause(then: () => void): void {
    this.#paused = true
    this.whenIdle(then)
  }

  /** Once no call is in flight, whatever became of it. */
  whenIdle(then: () => void): void {
    if (this.#busy) this.#whenIdle.push(then)
    else then()
  }

  /** A snapshot is in use: the state is now that one. */
  restart(state: AppliedState): void {
    this.#epoch++
    this.#busy = false
    this.#paused = false
    this.#state = state
    this.#committed = Math.max(this.#committed, state.position.index)
  }

  resume(): void {
    this.#paused = false
    this.pump()
  }

  stop(): void {
    this.#stopped = true
  }

  /** One slice; `applied` tells its owner to come again. */
  pump(): void {
    if (this.#busy || this.#paused || this.#stopped) return
    try {
      const slice = this.#nextSlice()
      if (slice.length > 0) this.#apply(slice)
    } catch (error) {
      this.#fail(error)
    }
  }

  #nextSlice(): Entry[] {
    const slice: Entry[] = []
    let bytes = 0
    for (let index = this.#state.position.index + 1; index <= this.#committed; index++) {
      const entry = this.#ports.entry(index)
      slice.push(entry)
      bytes += entry.data.length
      // A change of members ends a slice: within one, the membership is one.
      if (entry.kind === 'members' || slice.length === SLICE_ENTRIES || bytes >= SLICE_BYTES) break
    }
    return slice
  }

  #apply(slice: readonly Entry[]): void {
    const epoch = this.#epoch
    const before = this.#state.membership
    const last = slice[slice.length - 1] as Entry
    const after = last.kind === 'members' ? decodeMembership(last.data) : before
    assert(after !== undefined, `the members of entry ${last.index} cannot be read`)
    const membershipAt = (index: number): Membership => (index === last.index ? after : before)
    this.#busy = true
    const results = this.#ports.machine.apply(slice, membershipAt)
    if (!(results instanceof Promise)) return this.#finish(epoch, slice, after, results)
    results
      .then((later) => this.#finish(epoch, slice, after, later))
      .catch((error: unknown) => this.#fail(error))
  }

  #finish(epoch: number, slice: readonly Entry[], membership: Membership, results: readonly Applied[]): void {
    if (epoch !== this.#epoch) return
    this.#busy = false
    if (!this.#stopped) {
      const { index, term, time } = slice[slice.length - 1] as Entry
      this.#state = { position: { index, term, time }, membership }
      this.#ports.applied(slice, results)
    }
    this.#tellIdle()
  }

  #tellIdle(): void {
    if (this.#whenIdle.length === 0) return
    for (const then of this.#whenIdle.splice(0)) then()
  }

  #fail(error: unknown): void {
    this.#busy = false
    if (!this.#stopped) {
      this.#stopped = true
      this.#ports.failed(error)
    }
    this.#tellIdle()
  }
}
