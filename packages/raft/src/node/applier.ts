// Driver: passes committed entries to the state machine in order. One call of the state machine is under way
// at a time. Entries that the core gives out are durable in this member's log. No entry is applied while a
// snapshot is installed. After that, no entry is applied that the snapshot contains (S3).

import { lastOf, assert } from '@latchkey/base'
import { decodeMembership } from '../core/index.js'
import type { Entry, LogPosition, Membership } from '../core/types.js'
import type { Applied, AppliedState, StateMachine } from './state-machine.js'

/** The most entries that one call applies, so that a long catch-up does not block the event loop (L21). */
const SLICE_ENTRIES = 256
const SLICE_BYTES = 4 * 1024 * 1024

interface ApplierPorts {
  readonly machine: StateMachine
  /** Returns the entry with that index. The core must still have the entry. */
  entry(index: number): Entry
  /** Called after each call of the state machine, in order. `entries` are the entries that were applied. */
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
  /** The number of installed snapshots. The result of a call that began before a snapshot is dropped. */
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

  /** True when there are more entries to apply. */
  get behind(): boolean {
    return this.#committed > this.#state.position.index
  }

  committed(index: number): void {
    this.#committed = Math.max(this.#committed, index)
  }

  /**
   * Calls `then` once no call of the state machine is under way. Nothing is applied until `restart` or
   * `resume` is called.
   */
  pause(then: () => void): void {
    this.#paused = true
    this.whenIdle(then)
  }

  /** Calls `then` once no call of the state machine is under way, even if the last call failed. */
  whenIdle(then: () => void): void {
    if (this.#busy) this.#whenIdle.push(then)
    else then()
  }

  /** Called when a snapshot was installed, and the state machine has this state. */
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

  /** Applies one slice of entries. The owner calls `pump` again after each call of `applied`. */
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
      // An entry that changes the membership ends a slice, so that one membership is valid for
      // the whole slice.
      if (entry.kind === 'members' || slice.length === SLICE_ENTRIES || bytes >= SLICE_BYTES) break
    }
    return slice
  }

  #apply(slice: readonly Entry[]): void {
    const epoch = this.#epoch
    const before = this.#state.membership
    const newest = lastOf(slice)
    const after = newest.kind === 'members' ? decodeMembership(newest.data) : before
    assert(after !== undefined, `the members of entry ${newest.index} cannot be read`)
    const membershipAt = (index: number): Membership => (index === newest.index ? after : before)
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
      const { index, term, time } = lastOf(slice)
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
