// Driver: owns the watches. Each is a cursor in the replicated events and a credit; nothing is queued for a slow one, it simply
// falls behind, and when the history no longer reaches its cursor it is told ERR_COMPACTED (C11).
//
// Laws: every watch is told every revision from its first on, in order, whole, once, or is told that it is over; `upTo` never
// goes back; a sink that throws loses its watch, and nobody else notices.

import type { Clock, Logger, Timer } from '@latchkey/base'
import { compareBytes } from '@latchkey/base'
import { type EventResult, LatchkeyError } from '@latchkey/protocol'
import type { State } from './state/state.js'
import type { KeyRange, KvLimits, Watch, WatchSink } from './store.js'

/** One watch is not served longer than this in a turn of the event loop. */
const REVISIONS_A_TURN = 512
/** One message is not larger than this, unless a single revision is. */
const MESSAGE_BYTES = 1024 * 1024
/** A watch that matched nothing for so many revisions is told how far it has come, so that it can resume from there. */
const SILENT_REVISIONS = 1024

interface Cursor {
  readonly range: KeyRange
  readonly sink: WatchSink
  /** The next revision to look at. */
  next: number
  /** All revisions up to here have been told. */
  told: number
  credit: number
  over: boolean
}

export class Watches {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #limits: KvLimits
  readonly #all = new Set<Cursor>()
  #state: State
  #timer: Timer | undefined
  #pumping = false

  constructor(clock: Clock, logger: Logger, limits: KvLimits, state: State) {
    this.#clock = clock
    this.#logger = logger
    this.#limits = limits
    this.#state = state
  }

  get size(): number {
    return this.#all.size
  }

  open(range: KeyRange, from: number, sink: WatchSink): Watch {
    if (this.#all.size >= this.#limits.watches) {
      throw new LatchkeyError(
        'ERR_BUSY',
        'Too many watches are open on this member. Close some, or watch a prefix.',
      )
    }
    const { revision, events } = this.#state.meta
    const next = from === 0 ? revision + 1 : from
    if (next < events.floor) throw compacted(next, events.floor)
    const cursor: Cursor = { range, sink, next, told: next - 1, credit: 0, over: false }
    this.#all.add(cursor)
    return {
      more: (events) => {
        cursor.credit += events
        this.#serveSoon()
      },
      close: () => this.#forget(cursor),
    }
  }

  #forget(cursor: Cursor): void {
    cursor.over = true
    this.#all.delete(cursor)
  }

  /** A snapshot was installed: the cursors go on in the new history, or learn that it does not reach them. */
  moveTo(state: State): void {
    this.#state = state
    this.pump()
  }

  /** Something was applied. */
  pump(): void {
    if (this.#all.size === 0 || this.#pumping) return
    this.#pumping = true
    let behind = false
    for (const cursor of this.#all) if (this.#serve(cursor)) behind = true
    this.#pumping = false
    if (behind) this.#serveSoon()
  }

  /** In a turn of its own, so that a sink that asks for more is not called from within itself. */
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

  /** Does it have more to be told at once? */
  #serve(cursor: Cursor): boolean {
    try {
      return this.#tell(cursor)
    } catch (error) {
      this.#logger.warn('a watch was ended', { error: String(error) })
      this.#end(cursor, error)
      return false
    }
  }

  #tell(cursor: Cursor): boolean {
    const { revision, events } = this.#state.meta
    if (cursor.next > revision || cursor.over) return false
    if (cursor.next < events.floor) {
      this.#end(cursor, compacted(cursor.next, events.floor))
      return false
    }
    const found = this.#gather(cursor, revision)
    const upTo = cursor.next - 1
    const caughtUp = upTo === revision
    if (found.length > 0 || upTo - cursor.told >= SILENT_REVISIONS) {
      cursor.credit -= found.length
      cursor.told = upTo
      cursor.sink.events(found, upTo)
    }
    return !caughtUp && cursor.credit > 0 && !cursor.over
  }

  /** Whole revisions, until the credit, the message or the turn is used up. */
  #gather(cursor: Cursor, last: number): EventResult[] {
    const found: EventResult[] = []
    const stop = Math.min(last, cursor.next + REVISIONS_A_TURN - 1)
    let bytes = 0
    while (cursor.next <= stop && found.length < cursor.credit && bytes < MESSAGE_BYTES) {
      for (const event of this.#state.events.of(cursor.next)) {
        if (!isIn(cursor.range, event[2])) continue
        found.push(event)
        bytes += event[2].length + (event[3]?.length ?? 0) + (event[4]?.length ?? 0)
      }
      cursor.next++
    }
    return found
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

const isIn = ({ start, end }: KeyRange, key: Uint8Array): boolean =>
  (start === null || compareBytes(key, start) >= 0) && (end === null || compareBytes(key, end) < 0)

const compacted = (from: number, floor: number): LatchkeyError =>
  new LatchkeyError(
    'ERR_COMPACTED',
    `The history begins at revision ${floor} and no longer reaches back to ${from}. Read the current state and watch from its revision on.`,
  )
