// Rule: what a leader knows of one other member, and how it sends to it.
//
//   probe      the common point is not known, or something was lost: one append at a time, until it is answered
//   replicate  appends are sent ahead of their answers, as far as the window allows
//   snapshot   what comes next is no longer in the log: a snapshot is under way, no appends
//              (one that a member asked for itself, since its state is gone, goes beside the appends of any other state)
//   refused    it has lost what it had acknowledged: no entries, and its acknowledgements do not count
//
// Laws
//   - match only grows (L9); next > match
//   - the window holds at most `maxInflight` appends (L18), and is empty in every state but replicate

import { assert } from '@latchkey/base'
import type { LogPosition, MemberId } from './types.js'

export type ProgressState = 'probe' | 'replicate' | 'snapshot' | 'refused'

/** The last indices of appends that are under way, oldest first; a ring. */
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

  /** An acknowledgement stands for all appends before it (L7). */
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

/** reading: the driver was asked for bytes. sent: the piece is under way. installing: all was sent and staged. */
export type SnapshotPhase = 'waiting' | 'reading' | 'sent' | 'installing'

export interface SnapshotTransfer {
  phase: SnapshotPhase
  position: LogPosition | undefined
  /** Of the piece that is wanted or under way. */
  offset: number
  /** Behind that piece, once it was sent. */
  end: number
  done: boolean
  /** The piece has been sent more than once. */
  again: boolean
  since: number
  /** The member asked for it itself: its state is gone, its log is not. */
  readonly asked: boolean
}

export class Progress {
  readonly id: MemberId
  match = 0
  next: number
  state: ProgressState = 'probe'
  /** A probe is under way and not answered. */
  probing = false
  readonly window: Window
  /** Timer time of the last answer of this term. */
  heardAt: number
  /** Timer time at which it last got on, or at which a look for a lost append was made. */
  movedAt: number
  /** The highest read round it has answered. */
  round = 0
  /** The commit index last told to it. */
  sentCommit = 0
  snapshot: SnapshotTransfer | undefined
  /** It is no member any more: it is told so up to the entry that removed it, until this timer time at most. */
  leaving: { readonly index: number; readonly until: number } | undefined
  /** An answer to a message of this round or later will show whether its disk was rolled back. */
  suspectRound: number | undefined

  constructor(id: MemberId, next: number, clock: number, windowSize: number) {
    this.id = id
    this.next = next
    this.heardAt = clock
    this.movedAt = clock
    this.window = new Window(windowSize)
  }

  /** True when this is news. */
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

  /** A transfer that was under way has been ended before. */
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
