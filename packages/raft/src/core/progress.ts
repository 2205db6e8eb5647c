// Rule: what a leader knows of one other member's log, and how it sends entries to that member.
//
//   probe      the leader searches the index up to which the two logs agree, for example after a lost
//              append. It sends one append at a time, and waits for the answer
//   replicate  the leader sends appends without waiting for answers, as many as the window allows
//   snapshot   the member's next entry is no longer in the log, so the leader sends a snapshot
//              and no appends
//   refused    the member has lost entries that it had acknowledged: it gets no entries, and its
//              acknowledgements do not count
//
// A member whose state machine has lost its data asks for a snapshot. The leader sends this snapshot without
// a change of the state to `snapshot`, because the log of this member may be complete.
//
// Laws
//   - `match` never decreases (L9), and `next` is greater than `match`.
//   - the window has at most `maxInflight` appends (L18). The window is empty in all states except replicate.

import { assert } from '@latchkey/base'
import type { LogPosition, MemberId } from './types.js'

type ProgressState = 'probe' | 'replicate' | 'snapshot' | 'refused'

/** A ring buffer with the last index of each unanswered append, oldest first. */
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

  /** An acknowledgement of an append also acknowledges all earlier appends (L7). */
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
 * 'waiting': other members receive snapshots first. 'reading': the driver reads the next piece. 'sent': the
 * piece is not answered yet. 'installing': the member has all pieces and installs the snapshot.
 */
type SnapshotPhase = 'waiting' | 'reading' | 'sent' | 'installing'

export interface SnapshotTransfer {
  phase: SnapshotPhase
  position: LogPosition | undefined
  /** In bytes, the offset of the piece that was sent last or is being read. */
  offset: number
  /** In bytes, the offset after the piece that was sent last. */
  end: number
  done: boolean
  again: boolean
  since: number
  /**
   * True if the member asked for a snapshot because its state machine has lost its data. Its log may still be
   * complete.
   */
  readonly asked: boolean
}

export class Progress {
  readonly id: MemberId
  match = 0
  next: number
  state: ProgressState = 'probe'
  /** True while the answer to a probe is missing. */
  probing = false
  readonly window: Window
  /** When the member's last answer of this term came, in ms of the election timers' clock. */
  answeredAt: number
  /**
   * When `match` last grew, or when the leader last sent an append to find out whether an append was lost. In
   * ms of the election timers' clock.
   */
  movedAt: number
  round = 0
  sentCommit = 0
  snapshot: SnapshotTransfer | undefined
  /**
   * Set when the member was removed. The entry of the removal has the index `index`, and the leader still
   * sends this entry to the member. The leader stops at the time `until`, in ms of the election timers'
   * clock.
   */
  leaving: { readonly index: number; readonly until: number } | undefined
  /**
   * Set when the member has rejected an index that it had acknowledged. Then a new read round with this
   * number begins (read-index.ts). If the member rejects the index again in this round or a later round, its
   * disk was rolled back to an old copy.
   */
  suspectRound: number | undefined

  constructor(id: MemberId, next: number, clock: number, windowSize: number) {
    this.id = id
    this.next = next
    this.answeredAt = clock
    this.movedAt = clock
    this.window = new Window(windowSize)
  }

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

  /**
   * Starts a snapshot transfer. If another transfer to this member is under way, the caller must end it
   * first.
   */
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
