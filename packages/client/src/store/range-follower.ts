// Driver: reports the rows of a range and then each change of the range. The follower continues after a link
// breaks, and after members have dropped the needed history.
//
// Laws (C61)
//   1  All rows come from one view at revision R. Then come the changes from revision R + 1 on, each change
//      once. The watch is opened at R + 1 as soon as R is known. So changes during the read of the rows wait
//      at the member, and not in this process.
//   2  All changes of one revision are reported in one step.
//   3  If the view or the history is lost, the reported rows and changes are no longer valid. A reset is
//      reported, and then all rows of another view. The new view is not older than any reported change,
//      because the new view comes from a linearizable read.
//   4  At any time this process holds at most two pages of rows, and at most as many changes as a member may
//      send before the reader has taken them (CREDIT in watches.ts).

import { type Clock, onAbort } from '@latchkey/base'
import { type Bounds, type EventResult, type LatchkeyError, isLatchkeyError } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { Queue } from '../engine/fifo-queue.js'
import type { WatchHandle } from '../engine/watches.js'
import { type Row, isLost, pagesOf } from './range-iterator.js'

export type RangeStep =
  | { readonly is: 'reset' }
  | { readonly is: 'rows'; readonly rows: readonly Row[] }
  | { readonly is: 'synced'; readonly revision: number }
  | { readonly is: 'events'; readonly events: readonly EventResult[] }

interface FollowOptions {
  /**
   * What the follower does if the view or the history is lost after the first report. If true, the follower
   * begins again. If false, the follower ends with ERR_COMPACTED.
   */
  readonly resync: boolean
  /** Ends the follower without an error. */
  readonly signal: AbortSignal
  readonly timeout?: (() => number | undefined) | undefined
}

/**
 * In ms: the pause before the next request to a member that has too many open views. A view is a snapshot for
 * reads.
 */
const BUSY_PAUSE = 100

export async function* followRange(
  engine: Engine,
  bounds: Bounds,
  options: FollowOptions,
): AsyncGenerator<RangeStep, undefined> {
  const { resync, signal } = options
  let hasReported = false
  let wasSynced = false
  for (;;) {
    try {
      for await (const step of followOnce(engine, bounds, wasSynced ? { resync, signal } : options)) {
        hasReported = true
        wasSynced ||= step.is === 'synced'
        yield step
      }
      return
    } catch (error) {
      if (signal.aborted) return
      const isBusy = isLatchkeyError(error, 'ERR_BUSY') && wasSynced && resync
      if (!isBusy && (!isLost(error) || (hasReported && !resync))) throw error
      if (isBusy) await pause(engine.clock, BUSY_PAUSE, signal)
    }
    if (hasReported) yield { is: 'reset' }
    hasReported = false
  }
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => end(), { ref: false })
    const off = onAbort(signal, () => end())
    const end = () => {
      timer.cancel()
      off()
      resolve()
    }
  })
}

async function* followOnce(
  engine: Engine,
  bounds: Bounds,
  { signal, timeout }: FollowOptions,
): AsyncGenerator<RangeStep, undefined> {
  const range = { ...bounds, reverse: false, limit: Number.POSITIVE_INFINITY, keysOnly: false } as const
  const asked = { stale: false, signal, timeout: undefined }
  let history: History | undefined
  try {
    let seen = 0
    for await (const { rows, revision } of pagesOf(engine, { ...range, part: 'revisions' }, asked, timeout)) {
      seen = revision
      history ??= new History(engine, bounds, revision + 1, signal)
      if (rows.length > 0) yield { is: 'rows', rows }
    }
    yield { is: 'synced', revision: seen }
    for (;;) {
      const events = await history?.next()
      if (events === undefined) return
      yield { is: 'events', events }
      history?.taken(events.length)
    }
  } finally {
    history?.end()
  }
}

class History {
  readonly #handle: WatchHandle
  readonly #batches = new Queue<readonly EventResult[]>()
  readonly #offAbort: () => void
  #error: LatchkeyError | undefined
  #isOver = false
  #wake: () => void = () => {}

  constructor(engine: Engine, { start, end }: Bounds, from: number, signal: AbortSignal) {
    this.#handle = engine.watch(start, end, from, {
      events: (events) => {
        this.#batches.push(events)
        this.#wake()
      },
      over: (error) => this.#over(error),
    })
    this.#offAbort = onAbort(signal, () => this.#over(undefined))
  }

  #over(error: LatchkeyError | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    this.#wake()
  }

  /**
   * Resolves to the next batch of changes. Resolves to undefined when the signal has aborted. If the watch
   * has failed, earlier changes are returned before the error. If the store was closed, earlier changes are
   * dropped.
   */
  async next(): Promise<readonly EventResult[] | undefined> {
    for (;;) {
      const isClosed =
        this.#isOver && (this.#error === undefined || isLatchkeyError(this.#error, 'ERR_CLOSED'))
      const batch = isClosed ? undefined : this.#batches.shift()
      if (batch !== undefined) return batch
      if (this.#isOver && this.#error !== undefined) throw this.#error
      if (this.#isOver) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  taken(events: number): void {
    this.#handle.taken(events)
  }

  end(): void {
    this.#offAbort()
    this.#handle.end()
  }
}
