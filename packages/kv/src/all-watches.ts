// Driver: owns all watches of a member. A client can watch keys, or locks, or locks with their renewals. Each
// of these three kinds has its own history of events.

import type { Clock, Logger } from '@latchkey/base'
import { type LatchkeyError, WATCH_OF, type WatchOf } from '@latchkey/protocol'
import type { KeyRange, KvLimits, Watch, WatchLags, WatchSink } from './kv-store-types.js'
import type { LockEvents } from './state/lock-events.js'
import type { State } from './state/store-state.js'
import { type WatchHistory, Watches } from './watches.js'

export class AllWatches {
  readonly #byKind: Readonly<Record<WatchOf, Watches>>
  #locks: LockEvents

  constructor(clock: Clock, logger: Logger, limits: KvLimits, state: State, locks: LockEvents) {
    this.#locks = locks
    const watches = (history: WatchHistory) => new Watches(clock, logger, limits, history)
    const [keys, plain, renewals] = histories(state, locks)
    this.#byKind = {
      [WATCH_OF.keys]: watches(keys),
      [WATCH_OF.locks]: watches(plain),
      [WATCH_OF.renewals]: watches(renewals),
    }
  }

  open(of: WatchOf, range: KeyRange, from: number, sink: WatchSink, by?: string): Watch {
    const watches = this.#byKind[of]
    const watch = watches.open(range, from, sink, by)
    this.#countRenewals()
    return {
      more: (events) => watch.more(events),
      close: () => {
        watch.close()
        this.#countRenewals()
      },
    }
  }

  get size(): number {
    let sum = 0
    this.#each((watches) => (sum += watches.size))
    return sum
  }

  get lags(): WatchLags {
    const lagOf = (of: WatchOf) => this.#byKind[of].lag
    return {
      keys: lagOf(WATCH_OF.keys),
      locks: lagOf(WATCH_OF.locks),
      renewals: lagOf(WATCH_OF.renewals),
    }
  }

  #countRenewals(): void {
    this.#locks.renewalWatches = this.#byKind[WATCH_OF.renewals].size
  }

  /**
   * Sends the new events to the watches. The state machine calls this method after it has applied entries.
   */
  pump(): void {
    this.#each((watches) => watches.pump())
    this.#countRenewals()
  }

  moveTo(state: State, locks: LockEvents): void {
    this.#locks = locks
    const all = histories(state, locks)
    this.#each((watches, of) => watches.moveTo(all[of]))
    this.#countRenewals()
  }

  closeAll(error: LatchkeyError): void {
    this.#each((watches) => watches.closeAll(error))
  }

  #each(run: (watches: Watches, of: WatchOf) => void): void {
    for (const of of [WATCH_OF.keys, WATCH_OF.locks, WATCH_OF.renewals]) run(this.#byKind[of], of)
  }
}

function histories(state: State, locks: LockEvents): readonly [WatchHistory, WatchHistory, WatchHistory] {
  const ofLocks = (renewals: boolean): WatchHistory => ({
    newest: () => locks.newest,
    floor: () => locks.floor,
    of: (index) => locks.of(index, renewals),
  })
  const ofKeys = {
    newest: () => state.meta.revision,
    floor: () => state.meta.events.floor,
    of: (revision: number) => state.events.of(revision),
  }
  return [ofKeys, ofLocks(false), ofLocks(true)]
}
