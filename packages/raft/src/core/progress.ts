// Rule: what a leader knows of one other member, and how the leader sends entries to it.
//
//   probe      the leader does not know up to where the two logs agree, or a message was lost:
//              it sends one append at a time, and the next one after the answer
//   replicate  appends are sent before earlier ones are answered, as many as the window allows
//   snapshot   the member's next entry is no longer in the log: a snapshot is sent, and no appends
//              (a member that has lost its state asks for a snapshot, which is sent beside appends)
//   refused    the member has lost entries that it had acknowledged: it gets no entries, and its
//              acknowledgements do not count
//
// Laws
//   - match only grows (L9), and next > match
//   - the window holds at most `maxInflight` appends (L18), and is empty in every state but replicate

import { assert } from '@latchkey/base'
import type { LogPosition, MemberId } from './types.js'

export type ProgressState = 'probe' | 'replicate' | 'snapshot' | 'refused'

/** The last indices of the appends that are not answered yet, oldest first, in a ring buffer. */
export class Window {
  readonly #lasts: number[]
  #head = 0
  #count = 0

  constructor(size: number) {
    this.#lasts = new Array<number>(size).fill(0)
  }

  get count(): number {
    return this.#count
  }

  get full(): boolean {
    return this.#count === this.#lasts.length
  }

  add(lastIndex: number): void {
    assert(!this.full, 'the window of appends under way is full')
    this.#lasts[(this.#head + this.#count) % this.#lasts.length] = lastIndex
    this.#count++
  }

  /** Removes the appends up to `match`. An acknowledgement also acknowledges all earlier appends (L7). */
  freeTo(match: number): void {
    while (this.#count > 0 && (this.#lasts[this.#head] as number) <= match) {
      this.#head = (this.#head + 1) % this.#lasts.length
      this.#count--
    }
  }

  clear(): void {
    this.#head = 0
    this.#count = 0
  }
}

/**
 * waiting: for a free transfer. reading: the driver was asked for bytes. sent: the piece was sent and is not
 * answered yet. installing: the member has all pieces.
 */
export type SnapshotPhase = 'waiting' | 'reading' | 'sent' | 'installing'

export interface SnapshotTransfer {
  phase: SnapshotPhase
  position: LogPosition | undefined
  /** The offset of the piece that is needed next or that was sent last. */
  offset: number
  /** The offset after the piece that was sent last. */
  end: number
  done: boolean
  /** True when the piece was sent more than once. */
  again: boolean
  since: number
  /** True if the member asked for the snapshot itself, because it has lost its state but not its log. */
  readonly asked: boolean
}

export class Progress {
  readonly id: MemberId
  match = 0
  next: number
  state: ProgressState = 'probe'
  /** True while a probe is not answered. */
  probing = false
  readonly window: Window
  /**
   * When this member last received an answer of that member in the current term, on the clock of the election
   * timers.
   */
  heardAt: number
  /**
   * When `match` last grew, or when the leader last searched for a lost append, on the clock of the election
   * timers.
   */
  movedAt: number
  /** The highest read round that the member has answered. */
  round = 0
  /** The last commit index that was sent to the member. */
  sentCommit = 0
  snapshot: SnapshotTransfer | undefined
  /**
   * Set when the member was removed. The leader still sends the log to that member up to the entry of its
   * removal, at `index`. At the time `until` the leader stops.
   */
  leaving: { readonly index: number; readonly until: number } | undefined
  /**
   * Set if the member may have lost acknowledged entries. The leader waits for an answer to a message of this
   * read round or of a later round. That answer decides whether the member's disk was rolled back.
   */
  suspectRound: number | undefined

  constructor(id: MemberId, next: number, clock: number, windowSize: number) {
    this.id = id
    this.next = next
    this.heardAt = clock
    this.movedAt = clock
    this.window = new Window(windowSize)
  }

  /** Returns true when `match` has grown. */
  acknowledge(match: number, clock: number): boolean {
    if (match <= this.match) return false
    this.match = match
    if (this.next <= match) this.next = match + 1
    this.window.freeTo(match)
    this.movedAt = clock
    this.suspectRound = undefined
    return true
  }

  toProbe(next: number): void {
    this.#leave()
    this.state = 'probe'
    this.next = Math.max(next, this.match + 1)
  }

  toReplicate(): void {
    this.#leave()
    this.state = 'replicate'
    this.next = this.match + 1
  }

  /** The caller has already ended the previous transfer to this member. */
  toSnapshot(clock: number): void {
    this.#leave()
    this.state = 'snapshot'
    this.wantSnapshot(clock, false)
  }

  wantSnapshot(clock: number, asked: boolean): void {
    this.snapshot = {
      phase: 'waiting',
      position: undefined,
      offset: 0,
      end: 0,
      done: false,
      again: false,
      since: clock,
      asked,
    }
  }

  toRefused(): void {
    this.#leave()
    this.state = 'refused'
  }

  #leave(): void {
    this.probing = false
    this.window.clear()
  }
}
