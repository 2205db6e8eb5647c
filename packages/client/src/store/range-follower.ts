// Driver: what is there in a range, then each change of it, whatever becomes of links and of the history that members keep.
//
// Laws (C61)
//   1  The rows are those of one frozen view of revision R, and the changes told behind them are those from R + 1 on, each once. The
//      history is opened at R + 1 as soon as R is known: what is written while the rows are read waits there, not in this process.
//   2  The changes of one revision come in one step.
//   3  Where the view or the history is lost, what was told counts no more: a reset is told, then all that is there, of a view that is
//      not older than anything told before, since it is a linearizable read.
//   4  One page of rows, one more that was asked for, and as many changes as a watch may have on its way: no more is held at a time.

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

export interface FollowOptions {
  /** false: what is lost ends it with ERR_COMPACTED, unless nothing was told yet. */
  readonly resync: boolean
  /** Ends it without an error. */
  readonly signal: AbortSignal
  /** What is left until the first sync has to be there; undefined: no limit. */
  readonly timeout?: (() => number | undefined) | undefined
}

/** A member that has no room for one more view is asked again after so many ms. */
const BUSY_PAUSE = 100

export async function* followRange(
  engine: Engine,
  bounds: Bounds,
  options: FollowOptions,
): AsyncGenerator<RangeStep, undefined> {
  const { resync, signal } = options
  let isTold = false
  let wasSynced = false
  for (;;) {
    try {
      for await (const step of followOnce(engine, bounds, wasSynced ? { resync, signal } : options)) {
        isTold = true
        wasSynced ||= step.is === 'synced'
        yield step
      }
      return
    } catch (error) {
      if (signal.aborted) return
      const isBusy = isLatchkeyError(error, 'ERR_BUSY') && wasSynced && resync
      if (!isBusy && (!isLost(error) || (isTold && !resync))) throw error
      if (isBusy) await pause(engine.clock, BUSY_PAUSE, signal)
    }
    if (isTold) yield { is: 'reset' }
    isTold = false
  }
}

/** Over at once when the signal aborts. */
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

/** Changes as they come, each batch of whole revisions. */
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

  /** undefined: it was ended by its signal. What came before the end is told first, unless the store was closed. */
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
