// Driver: owns the watches of a store, which survive a change of link. Each watch is one stream of events.
// After the change, the stream continues at the new member with the next event.
//
// Laws (C11: no event is lost, repeated or out of order after a change of link):
// - with each batch of events a member sends `upTo`, the last revision of which it has sent all events. A
//   watch delivers the events of revisions up to `upTo`, once and in order. Events beyond `upTo` are kept
//   until their revision is complete, and are dropped when the link closes. A watch that is resumed starts at
//   the revision after the last complete revision.
// - a member sends no more events than the watch's credit allows, except for the rest of a revision that it
//   has begun.

import {
  type Answer,
  type EventResult,
  type LatchkeyError,
  READ,
  type WatchOf,
  decodeAnswer,
  errorOf,
} from '@latchkey/protocol'
import type { LinkState } from './call.js'
import { judgeRead } from './outcome-of-answer.js'
import type { ActiveLink } from './shared-by-all-calls.js'

/** How many events of one watch a member may send before the reader has taken them. Then the member waits. */
const CREDIT = 1_024

export interface WatchSink {
  /** Called with a LockStateResult when a watch of locks begins. Returns the log index of that state. */
  began?(state: unknown): number
  events(events: readonly EventResult[]): void
  over(error: LatchkeyError): void
}
export interface WatchHandle {
  taken(events: number): void
  end(): void
}

interface Watch extends WatchHandle {
  readonly of: WatchOf | undefined
  readonly start: Uint8Array | null
  readonly end_: Uint8Array | null
  readonly sink: WatchSink
  /** The next revision to deliver. 0 means that the revision is not known yet. */
  from: number
  id: number
  live: LinkState | undefined
  partial: EventResult[]
  credit: number
  /** How many delivered events the reader has not taken yet. */
  untaken: number
}

export class Watches {
  readonly #activeLink: ActiveLink
  readonly #all = new Set<Watch>()
  readonly #byId = new Map<number, Watch>()

  constructor(activeLink: ActiveLink) {
    this.#activeLink = activeLink
  }

  /** Opens a watch. If `from` is 0, the watch sends no request until begin() sets `from`. */
  open(
    start: Uint8Array | null,
    end: Uint8Array | null,
    from: number,
    sink: WatchSink,
    of?: WatchOf,
  ): WatchHandle {
    const watch: Watch = {
      of,
      start,
      end_: end,
      sink,
      from,
      id: 0,
      live: undefined,
      partial: [],
      credit: 0,
      untaken: 0,
      taken: (events) => this.#taken(watch, events),
      end: () => this.#end(watch),
    }
    this.#all.add(watch)
    this.#start(watch)
    return watch
  }

  begin(handle: WatchHandle, from: number): void {
    const watch = handle as Watch
    watch.from = from
    if (this.#all.has(watch)) this.#start(watch)
  }

  resume(): void {
    for (const watch of this.#all) if (watch.live !== this.#activeLink.link) this.#start(watch)
  }

  #start(watch: Watch): void {
    const live = this.#activeLink.link
    this.#leave(watch)
    if (!live?.link || watch.from === 0) return
    watch.live = live
    watch.id = this.#activeLink.nextId()
    this.#byId.set(watch.id, watch)
    const { id, start, end_: end, from, of } = watch
    live.link.send({ kind: 'watch', id, start, end, from, ...(of === undefined ? {} : { of }) })
    this.#allow(watch)
    this.#activeLink.awaited(live)
  }

  #leave(watch: Watch): void {
    const { live, id } = watch
    watch.live = undefined
    watch.partial = []
    watch.credit = 0
    this.#byId.delete(id)
    if (live?.open) live.link?.send({ kind: 'watchEnd', id })
  }

  #allow(watch: Watch): void {
    const more = CREDIT - watch.credit - watch.untaken
    if (more < CREDIT / 2 || !watch.live?.open) return
    watch.credit += more
    watch.live.link?.send({ kind: 'watchMore', id: watch.id, events: more })
  }

  #taken(watch: Watch, events: number): void {
    // The reader of a watch of locks also takes events that the store itself has added, so the difference may
    // be negative.
    watch.untaken = Math.max(0, watch.untaken - events)
    this.#allow(watch)
  }

  #end(watch: Watch): void {
    this.#all.delete(watch)
    this.#leave(watch)
  }

  received(live: LinkState, id: number, events: readonly EventResult[], upTo: number): void {
    const watch = this.#byId.get(id)
    if (!watch || watch.live !== live) return
    watch.credit -= events.length
    const complete = completed(watch, events, upTo)
    watch.from = Math.max(watch.from, upTo + 1)
    if (complete.length > 0) {
      watch.untaken += complete.length
      watch.sink.events(complete)
    }
    this.#allow(watch)
  }

  /**
   * Called when the member has ended a watch. The watch starts again, or fails if the member's error is
   * final.
   */
  over(live: LinkState, id: number, bytes: Answer | Uint8Array): void {
    const watch = this.#byId.get(id)
    if (!watch || watch.live !== live) return
    const answer = bytes instanceof Uint8Array ? decodeAnswer(bytes) : bytes
    this.#byId.delete(id)
    watch.live = undefined
    const passing = answer[0] === 0 || judgeRead(answer, false) === 'again'
    if (passing) return this.#activeLink.later()
    this.fail(watch, errorOf(answer))
  }

  fail(handle: WatchHandle, error: LatchkeyError): void {
    const watch = handle as Watch
    if (!this.#all.has(watch)) return
    this.#end(watch)
    watch.sink.over(error)
  }

  get size(): number {
    return this.#all.size
  }

  failAll(error: () => LatchkeyError): void {
    for (const watch of [...this.#all]) this.fail(watch, error())
  }
}

/**
 * Returns the events that can be delivered now. The other events stay in `partial`. The returned array may be
 * shared with other watches.
 */
function completed(watch: Watch, events: readonly EventResult[], upTo: number): readonly EventResult[] {
  const [first, last] = [events[0], events[events.length - 1]]
  const isWhole = first === undefined || last === undefined || (first[0] >= watch.from && last[0] <= upTo)
  if (isWhole && watch.partial.length === 0) return events
  const all = [...watch.partial, ...events]
  watch.partial = all.filter(([revision]) => revision > upTo)
  return all.filter(([revision]) => revision <= upTo && revision >= watch.from)
}

export const REVISION_READ = [READ.revision] as const
