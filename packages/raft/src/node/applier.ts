// Driver: passes committed entries to the state machine, in order and one call at a time. While a snapshot is
// installed, no entry is applied. After the installation, only entries after the snapshot are applied (S3).
// The core gives out only entries that are durable in this member's log.

import { lastOf, assert } from '@latchkey/base'
import { decodeMembership } from '../core/index.js'
import type { Entry, LogPosition, Membership } from '../core/types.js'
import type { Applied, AppliedState, StateMachine } from './state-machine-interface.js'

/**
 * How many entries and bytes one call of the state machine applies at most. A longer call would block the
 * event loop (L21).
 */
const SLICE_ENTRIES = 256
const SLICE_BYTES = 4 * 1024 * 1024

interface ApplierPorts {
  readonly machine: StateMachine
  /** The entry must still be in the log in memory. */
  entry(index: number): Entry
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
  /**
   * How many snapshots were installed. If the number has changed during a call of the state machine, the
   * result of that call is dropped.
   */
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

  get behind(): boolean {
    return this.#committed > this.#state.position.index
  }

  committed(index: number): void {
    this.#committed = Math.max(this.#committed, index)
  }

  /**
   * Stops applying entries until `restart` or `resume` is called. Calls `then` when no call of the state
   * machine is under way any more.
   */
  pause(then: () => void): void {
    this.#paused = true
    this.whenIdle(then)
  }

  /** Calls `then` when no call of the state machine is under way any more, also after a failed call. */
  whenIdle(then: () => void): void {
    if (this.#busy) this.#whenIdle.push(then)
    else then()
  }

  /**
   * Ends a pause after a snapshot was installed. `state` is the snapshot's position and membership. The next
   * entry to apply is the entry after `state`.
   */
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

  /** The owner calls `pump` again after `applied`. */
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
      // A membership entry ends the call, so that all earlier entries of the call have one membership.
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
