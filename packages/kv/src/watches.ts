// Driver: owns the watches. Each watch is a cursor into the replicated events, with a credit: the number of
// events that it may still send. No events are queued for a slow watch. The watch falls behind, and when the
// history no longer has its next revision, the watch ends with ERR_COMPACTED (C11).
//
// Watches that are up to date are served together: an event is read once, and a search finds the watches
// whose range contains its key. So a put costs nothing for the watches of other keys, and watches of the same
// range share one list of events. A watch that is behind, because it has no credit or began at an old
// revision, reads the history by itself until it has caught up.
//
// In one turn of the event loop only a limited number of events is read for all watches that are behind, and
// these watches take turns. Without this limit: one client opens a thousand watches from an old revision, and
// the member reads the history a thousand times before its next heartbeat.
//
// Laws: every watch gets every revision from its first revision on, in order, whole and once, or ends with an
// error. `upTo` never goes back. Without credit nothing is sent. A sink that throws ends its own watch and no
// other.

import type { Clock, Logger, Timer } from '@latchkey/base'
import { elementAt, compareBytes } from '@latchkey/base'
import { type EventResult, LatchkeyError } from '@latchkey/protocol'
import type { KeyRange, KvLimits, Watch, WatchSink } from './kv-store.js'
import { type Cursor, type Group, Groups, bytesOf, within } from './watch-groups.js'

/** The most revisions that one watch reads in a turn of the event loop. */
const REVISIONS_A_TURN = 512
/**
 * The most revisions and events together that are read for all watches in one turn of the event loop. So many
 * reads take about ten milliseconds. A revision is never split.
 */
const LOOKS_A_TURN = 4_000
/** The most bytes of events that are sent in one turn to the watches that are behind. */
const TOLD_A_TURN = 4 * 1024 * 1024
/** The most bytes of one message. A larger single revision is sent whole. */
const MESSAGE_BYTES = 1024 * 1024
/**
 * In revisions. If no event matches a watch for this many revisions, the member still sends the watch's
 * client a message with the revision that the watch has reached. So the client can resume the watch at that
 * revision. A watch that is up to date gets the message at most half as many revisions later.
 */
const SILENT_REVISIONS = 1024

/**
 * The history of events that the watches read. Revisions are growing numbers. Some revisions have no events.
 */
export interface WatchHistory {
  newest(): number
  /**
   * The oldest revision whose events are kept. If no events are kept, the number after the newest revision.
   */
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
  /** How many watches each client has open. */
  readonly #countOf = new Map<string, number>()
  /** All watches that are up to date have read the revisions up to this one. */
  #seen = 0
  /** The revision at which the watches that are up to date last got a message without events. */
  #silent = 0
  #history: WatchHistory
  #timer: Timer | undefined
  #pumping = false
  /** How many revisions and events were read in this turn of the event loop. */
  #looks = 0
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
        if (!cursor.follows) this.#serveSoon()
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
   * Called after a snapshot was installed. Each watch continues in the new history, or ends if the new
   * history does not have its next revision.
   */
  moveTo(history: WatchHistory): void {
    this.#history = history
    this.pump()
  }

  /** Called after entries were applied. Sends the new events. */
  pump(): void {
    if (this.#all.size === 0 || this.#pumping) return
    this.#pumping = true
    const more = this.#follow()
    this.#looks = 0
    this.#bytes = 0
    const isMoreBehind = this.#serveBehind()
    this.#pumping = false
    if (more || isMoreBehind) this.#serveSoon()
  }

  /**
   * Serves the watches that are behind. A watch with more to send goes to the end of the list. Returns true
   * if any watch has more to send.
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
    return this.#looks >= LOOKS_A_TURN || this.#bytes >= TOLD_A_TURN
  }

  /**
   * Serves watches in a later turn of the event loop. A sink asks for more events by a call of `more`, and
   * this call must not call the sink back.
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
   * Sends the new events to all watches that are up to date. Returns true if there are more events to read.
   */
  #follow(): boolean {
    const [revision, floor] = [this.#history.newest(), this.#history.floor()]
    if (this.#behind.size === this.#all.size) {
      this.#seen = revision
      this.#silent = revision
    }
    if (this.#seen >= revision) return false
    try {
      if (this.#seen + 1 < floor) throw compacted(this.#seen + 1, floor)
      this.#look(revision)
    } catch {
      // The history cannot be read. From now on each watch reads the history by itself and gets the error.
      this.#groups.taken()
      for (const cursor of this.#all) this.#fallBehind(cursor, this.#seen + 1)
      return false
    }
    for (const [group, found] of this.#groups.taken()) this.#tellGroup(group, found)
    if (this.#seen - this.#silent >= SILENT_REVISIONS) this.#tellSilent()
    return this.#seen < revision
  }

  #look(last: number): void {
    const stop = Math.min(last, this.#seen + REVISIONS_A_TURN)
    let seen = this.#seen
    let looks = 0
    for (let bytes = 0; seen < stop && bytes < MESSAGE_BYTES && looks < LOOKS_A_TURN; seen++) {
      const events = this.#history.of(seen + 1)
      bytes += this.#groups.add(events)
      looks += 1 + events.length
    }
    this.#seen = seen
  }

  #tellGroup({ cursors }: Group, found: readonly EventResult[]): void {
    for (const cursor of cursors) {
      if (!cursor.follows) continue
      const count = within(cursor.credit, found)
      if (count === found.length) this.#told(cursor, found, this.#seen)
      else {
        const [next] = elementAt(found, count)
        this.#fallBehind(cursor, next)
        if (count > 0) this.#told(cursor, found.slice(0, count), next - 1)
      }
    }
  }

  #tellSilent(): void {
    this.#silent = this.#seen
    for (const cursor of this.#all) {
      if (cursor.follows && cursor.credit > 0 && this.#seen - cursor.told >= SILENT_REVISIONS / 2)
        this.#told(cursor, [], this.#seen)
    }
  }

  #fallBehind(cursor: Cursor, next: number): void {
    if (!cursor.follows) return
    cursor.follows = false
    cursor.next = next
    this.#behind.add(cursor)
  }

  #told(cursor: Cursor, events: readonly EventResult[], upTo: number): void {
    cursor.credit -= events.length
    cursor.told = upTo
    try {
      cursor.sink.events(events, upTo)
    } catch (error) {
      this.#failed(cursor, error)
    }
  }

  // ---- Watches that are behind

  /** Sends events to one watch that is behind. Returns true if the watch could send more at once. */
  #serve(cursor: Cursor): boolean {
    try {
      return this.#tell(cursor)
    } catch (error) {
      this.#failed(cursor, error)
      return false
    }
  }

  #tell(cursor: Cursor): boolean {
    const [revision, floor] = [this.#history.newest(), this.#history.floor()]
    if (cursor.over || cursor.next > revision) return this.#catchUp(cursor)
    if (cursor.next < floor) {
      this.#end(cursor, compacted(cursor.next, floor))
      return false
    }
    const found = this.#gather(cursor, revision)
    const upTo = cursor.next - 1
    if (found.length > 0 || upTo - cursor.told >= SILENT_REVISIONS) this.#told(cursor, found, upTo)
    return upTo === revision ? this.#catchUp(cursor) : cursor.credit > 0 && !cursor.over
  }

  /** Marks the watch as up to date if it has reached the revision of the other watches. */
  #catchUp(cursor: Cursor): false {
    if (!cursor.over && cursor.next === this.#seen + 1) {
      cursor.follows = true
      this.#behind.delete(cursor)
    }
    return false
  }

  /**
   * Reads whole revisions until the credit, the size of a message or the limit of the turn of the event loop
   * is used up.
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
      this.#looks += 1 + events.length
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
    const told =
      error instanceof LatchkeyError
        ? error
        : new LatchkeyError('ERR_ABORTED', 'The watch failed.', { cause: error })
    try {
      cursor.sink.over(told)
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
