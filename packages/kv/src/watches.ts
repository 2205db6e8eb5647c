// Driver: owns the watches of one kind, such as all watches of keys (all-watches.ts). Each watch is a cursor
// into the replicated events. The credit of a watch is the number of further events that the client permits
// the store to send. If the next revision of a slow watch is no longer in the history, the watch ends with
// ERR_COMPACTED (C11).
//
// Watches that are up to date are served together. The store reads an event once, and a search finds the
// watches whose range contains the key of the event. So a put costs nothing for the watches of other keys. A
// watch that is behind, because it has no credit or began at an old revision, reads the history by itself
// until it has caught up.
//
// In one turn of the event loop the store reads a limited number of events for the watches that are behind.
// Without this limit: a client opens a thousand watches from an old revision. The member reads the history a
// thousand times before its next heartbeat, and the followers elect another leader.
//
// Laws: every watch gets every revision from its first revision on, in order, whole and once, or ends with an
// error. The revision up to which a watch has reported all events (`upTo`) never goes back. A watch without
// credit sends nothing. If the sink of a watch throws, only that watch ends.

import type { Clock, Logger, Timer } from '@latchkey/base'
import { elementAt, compareBytes } from '@latchkey/base'
import { type EventResult, LatchkeyError } from '@latchkey/protocol'
import type { KeyRange, KvLimits, Watch, WatchSink } from './kv-store-types.js'
import { type Cursor, type Group, Groups, bytesOf, within } from './watches-grouped-by-range.js'

/** The most revisions that one watch that is behind reads in one turn of the event loop. */
const REVISIONS_A_TURN = 512
/**
 * The most revisions and events, counted together, that the store reads in one turn of the event loop for all
 * watches that are up to date. The watches that are behind have a second limit of the same size. Reading up
 * to one limit takes about ten milliseconds. The store never splits a revision, so the last revision may
 * exceed a limit.
 */
const READS_A_TURN = 4_000
/**
 * In bytes of events, the most that the store sends in one turn of the event loop to all watches that are
 * behind, together.
 */
const SENT_BYTES_A_TURN = 4 * 1024 * 1024
/** The most bytes of events in one message. A larger single revision is sent as one message. */
const MESSAGE_BYTES = 1024 * 1024
/**
 * After this many revisions without an event for a watch, the store sends its client a message that has only
 * a revision. After a reconnect, the client can resume the watch at that revision. In etcd this message is
 * called a progress notification.
 */
const PROGRESS_REVISIONS = 1024

/** Some revisions have no events. */
export interface WatchHistory {
  newest(): number
  /** The oldest revision whose events are kept. If no events are kept, the newest revision plus 1. */
  floor(): number
  of(revision: number): readonly EventResult[]
}

export class Watches {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #limits: KvLimits
  readonly #groups = new Groups()
  readonly #all = new Set<Cursor>()
  readonly #behind = new Set<Cursor>()
  readonly #countOf = new Map<string, number>()
  /** The watches that are up to date have read all revisions up to this one. */
  #seen = 0
  /** The revision at which the up-to-date watches last got a message without events. */
  #lastProgress = 0
  #history: WatchHistory
  #timer: Timer | undefined
  #pumping = false
  /** How many revisions and events the store has read in this turn, for the watches that are behind. */
  #reads = 0
  #bytes = 0

  constructor(clock: Clock, logger: Logger, limits: KvLimits, history: WatchHistory) {
    this.#clock = clock
    this.#logger = logger
    this.#limits = limits
    this.#history = history
  }

  get size(): number {
    return this.#all.size
  }

  /** How many revisions the slowest watch has not read yet. */
  get lag(): number {
    const newest = this.#history.newest()
    let read = this.#behind.size === this.#all.size ? newest : this.#seen
    for (const { next } of this.#behind) read = Math.min(read, next - 1)
    return newest - read
  }

  open(range: KeyRange, from: number, sink: WatchSink, by = ''): Watch {
    if (this.#all.size >= this.#limits.watches) throw tooMany('on this member')
    const mine = this.#countOf.get(by) ?? 0
    if (mine >= this.#limits.watchesOfOne) throw tooMany('by these credentials on this member')
    const [revision, floor] = [this.#history.newest(), this.#history.floor()]
    const next = from === 0 ? revision + 1 : from
    if (next < floor) throw compacted(next, floor)
    const cursor = this.#groups.enter(range, sink, next, by)
    this.#countOf.set(by, mine + 1)
    this.#all.add(cursor)
    this.#behind.add(cursor)
    return {
      more: (events) => {
        cursor.credit += events
        if (!cursor.isUpToDate) this.#serveSoon()
      },
      close: () => this.#forget(cursor),
    }
  }

  #forget(cursor: Cursor): void {
    cursor.over = true
    this.#groups.leave(cursor)
    if (this.#all.delete(cursor)) this.#uncount(cursor.by)
    this.#behind.delete(cursor)
  }

  #uncount(by: string): void {
    const left = (this.#countOf.get(by) ?? 0) - 1
    if (left > 0) this.#countOf.set(by, left)
    else this.#countOf.delete(by)
  }

  /**
   * Called after a snapshot has replaced the state. Each watch continues in the new history, or ends if the
   * new history does not have its next revision.
   */
  moveTo(history: WatchHistory): void {
    this.#history = history
    this.pump()
  }

  /** Called after the store has applied entries. */
  pump(): void {
    if (this.#all.size === 0 || this.#pumping) return
    this.#pumping = true
    const more = this.#follow()
    this.#reads = 0
    this.#bytes = 0
    const isMoreBehind = this.#serveBehind()
    this.#pumping = false
    if (more || isMoreBehind) this.#serveSoon()
  }

  /**
   * Serves the watches that are behind. A watch that has more to send goes to the end of the list. Returns
   * true if any watch has more to send.
   */
  #serveBehind(): boolean {
    const again: Cursor[] = []
    let more = false
    for (const cursor of this.#behind) {
      if (this.#turnIsOver) {
        more = true
        break
      }
      if (this.#serve(cursor)) again.push(cursor)
    }
    for (const cursor of again) if (this.#behind.delete(cursor)) this.#behind.add(cursor)
    return more || again.length > 0
  }

  get #turnIsOver(): boolean {
    return this.#reads >= READS_A_TURN || this.#bytes >= SENT_BYTES_A_TURN
  }

  /**
   * Serves the watches in a later turn of the event loop. A sink calls `more` when it wants more events. If
   * `more` called the sink directly, the calls would recurse.
   */
  #serveSoon(): void {
    this.#timer ??= this.#clock.after(
      0,
      () => {
        this.#timer = undefined
        this.pump()
      },
      { ref: false },
    )
  }

  // ---- Watches that are up to date

  /**
   * Sends the new events to the watches that are up to date. Returns true if there are more events to read.
   */
  #follow(): boolean {
    const [revision, floor] = [this.#history.newest(), this.#history.floor()]
    if (this.#behind.size === this.#all.size) {
      this.#seen = revision
      this.#lastProgress = revision
    }
    if (this.#seen >= revision) return false
    try {
      if (this.#seen + 1 < floor) throw compacted(this.#seen + 1, floor)
      this.#readNew(revision)
    } catch {
      // The history cannot be read. From now on each watch reads the history by itself and gets the error.
      this.#groups.taken()
      for (const cursor of this.#all) this.#fallBehind(cursor, this.#seen + 1)
      return false
    }
    for (const [group, found] of this.#groups.taken()) this.#sendToGroup(group, found)
    if (this.#seen - this.#lastProgress >= PROGRESS_REVISIONS) this.#sendProgress()
    return this.#seen < revision
  }

  #readNew(last: number): void {
    const stop = Math.min(last, this.#seen + REVISIONS_A_TURN)
    let seen = this.#seen
    let reads = 0
    for (let bytes = 0; seen < stop && bytes < MESSAGE_BYTES && reads < READS_A_TURN; seen++) {
      const events = this.#history.of(seen + 1)
      bytes += this.#groups.add(events)
      reads += 1 + events.length
    }
    this.#seen = seen
  }

  #sendToGroup({ cursors }: Group, found: readonly EventResult[]): void {
    for (const cursor of cursors) {
      if (!cursor.isUpToDate) continue
      const count = within(cursor.credit, found)
      if (count === found.length) this.#send(cursor, found, this.#seen)
      else {
        const [next] = elementAt(found, count)
        this.#fallBehind(cursor, next)
        if (count > 0) this.#send(cursor, found.slice(0, count), next - 1)
      }
    }
  }

  #sendProgress(): void {
    this.#lastProgress = this.#seen
    for (const cursor of this.#all) {
      if (cursor.isUpToDate && cursor.credit > 0 && this.#seen - cursor.sentUpTo >= PROGRESS_REVISIONS / 2)
        this.#send(cursor, [], this.#seen)
    }
  }

  #fallBehind(cursor: Cursor, next: number): void {
    if (!cursor.isUpToDate) return
    cursor.isUpToDate = false
    cursor.next = next
    this.#behind.add(cursor)
  }

  #send(cursor: Cursor, events: readonly EventResult[], upTo: number): void {
    cursor.credit -= events.length
    cursor.sentUpTo = upTo
    try {
      cursor.sink.events(events, upTo)
    } catch (error) {
      this.#failed(cursor, error)
    }
  }

  // ---- Watches that are behind

  /** Serves a watch that is behind. Returns true if the watch then has credit, and revisions to read. */
  #serve(cursor: Cursor): boolean {
    try {
      return this.#sendNext(cursor)
    } catch (error) {
      this.#failed(cursor, error)
      return false
    }
  }

  #sendNext(cursor: Cursor): boolean {
    const [revision, floor] = [this.#history.newest(), this.#history.floor()]
    if (cursor.over || cursor.next > revision) return this.#catchUp(cursor)
    if (cursor.next < floor) {
      this.#end(cursor, compacted(cursor.next, floor))
      return false
    }
    const found = this.#gather(cursor, revision)
    const upTo = cursor.next - 1
    if (found.length > 0 || upTo - cursor.sentUpTo >= PROGRESS_REVISIONS) this.#send(cursor, found, upTo)
    return upTo === revision ? this.#catchUp(cursor) : cursor.credit > 0 && !cursor.over
  }

  /**
   * Makes the watch an up-to-date watch, if it has read as far as the up-to-date watches. Always returns
   * false.
   */
  #catchUp(cursor: Cursor): false {
    if (!cursor.over && cursor.next === this.#seen + 1) {
      cursor.isUpToDate = true
      this.#behind.delete(cursor)
    }
    return false
  }

  /**
   * Reads whole revisions until the watch has no credit, the message is full, or this turn of the event loop
   * has no more reads.
   */
  #gather(cursor: Cursor, last: number): EventResult[] {
    const found: EventResult[] = []
    const stop = Math.min(last, cursor.next + REVISIONS_A_TURN - 1)
    let bytes = 0
    while (
      cursor.next <= stop &&
      found.length < cursor.credit &&
      bytes < MESSAGE_BYTES &&
      !this.#turnIsOver
    ) {
      const events = this.#history.of(cursor.next)
      this.#reads += 1 + events.length
      for (const event of events) {
        if (!isIn(cursor.group.range, event[2])) continue
        found.push(event)
        bytes += bytesOf(event)
      }
      cursor.next++
    }
    this.#bytes += bytes
    return found
  }

  // ---- Ending a watch

  #failed(cursor: Cursor, error: unknown): void {
    this.#logger.warn('a watch was ended', { error: String(error) })
    this.#end(cursor, error)
  }

  #end(cursor: Cursor, error: unknown): void {
    if (cursor.over) return
    this.#forget(cursor)
    const reason =
      error instanceof LatchkeyError
        ? error
        : new LatchkeyError('ERR_ABORTED', 'The watch failed.', { cause: error })
    try {
      cursor.sink.over(reason)
    } catch (cause) {
      this.#logger.warn("a watch's sink threw", { error: String(cause) })
    }
  }

  closeAll(error: LatchkeyError): void {
    this.#timer?.cancel()
    this.#timer = undefined
    for (const cursor of [...this.#all]) this.#end(cursor, error)
  }
}

const tooMany = (whose: string) =>
  new LatchkeyError('ERR_BUSY', `Too many watches are open ${whose}. Close some, or watch a prefix.`)

const isIn = ({ start, end }: KeyRange, key: Uint8Array): boolean =>
  (start === null || compareBytes(key, start) >= 0) && (end === null || compareBytes(key, end) < 0)

const compacted = (from: number, floor: number): LatchkeyError =>
  new LatchkeyError(
    'ERR_COMPACTED',
    `The history begins at revision ${floor} and no longer reaches back to ${from}. Read the current state and watch from its revision on.`,
  )
