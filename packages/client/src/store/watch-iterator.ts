// Driver: offers a watch as an async iterator. The watch begins at the call of `watch`, not at the first
// `next()`. Events wait in this iterator until they are read. The number of waiting events is limited
// (watches.ts, range-follower.ts).

import { onAbort } from '@latchkey/base'
import { type Bounds, type EventResult, LatchkeyError } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { Queue } from '../engine/fifo-queue.js'
import type { WatchHandle } from '../engine/watches.js'
import { type RangeStep, followRange } from './range-follower.js'
import type { Row } from './range-iterator.js'

interface Reader<Event> {
  resolve(result: IteratorResult<Event>): void
  reject(error: unknown): void
}

interface Sink<Raw> {
  events(events: readonly Raw[]): void
  over(error: unknown): void
}

export interface WatchSource<Raw, Event> {
  open(sink: Sink<Raw>): WatchHandle
  /** If this function throws, the watch ends with that error. */
  convert(raw: Raw): Event
  readonly signal: AbortSignal | undefined
}

const DONE: IteratorResult<never> = { done: true, value: undefined }

export class WatchIterator<Raw, Event> implements AsyncIterableIterator<Event> {
  readonly #source: WatchSource<Raw, Event>
  readonly #handle: WatchHandle
  readonly #events = new Queue<Raw>()
  readonly #readers = new Queue<Reader<Event>>()
  readonly #abort = () =>
    this.#fail(new LatchkeyError('ERR_ABORTED', undefined, { cause: this.#source.signal?.reason }), true)
  #offAbort: (() => void) | undefined
  #error: unknown
  #over = false

  constructor(source: WatchSource<Raw, Event>) {
    const { signal } = source
    this.#source = source
    this.#handle = source.open({
      events: (events) => this.#arrived(events),
      over: (error) => this.#fail(error, (error as { code?: unknown }).code === 'ERR_CLOSED'),
    })
    if (signal?.aborted) this.#abort()
    else if (signal) this.#offAbort = onAbort(signal, this.#abort)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(true)
  }

  next(): Promise<IteratorResult<Event>> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject })
      this.#serve()
    })
  }

  /** Ends the watch without an error. The `next()` calls that wait resolve to the end of the iteration. */
  async return(): Promise<IteratorResult<Event>> {
    this.#end(true)
    return DONE
  }

  async throw(error?: unknown): Promise<IteratorResult<Event>> {
    this.#end(true)
    throw error
  }

  #arrived(events: readonly Raw[]): void {
    for (const event of events) this.#events.push(event)
    this.#serve()
  }

  #serve(): void {
    while (this.#readers.length > 0) {
      const event = this.#events.shift()
      if (event !== undefined) this.#deliver(this.#readers.shift() as Reader<Event>, event)
      else if (!this.#over) return
      else this.#deliverEnd(this.#readers.shift() as Reader<Event>)
    }
  }

  #deliver(reader: Reader<Event>, event: Raw): void {
    this.#handle.taken(1)
    try {
      reader.resolve({ done: false, value: this.#source.convert(event) })
    } catch (error) {
      this.#end(true)
      reject(reader, error)
    }
  }

  /**
   * Answers a `next()` call after the end of the watch. The first of these calls rejects with the error of
   * the watch, if there is one. Every other call resolves to the end of the iteration.
   */
  #deliverEnd(reader: Reader<Event>): void {
    const error = this.#error
    this.#error = undefined
    if (error === undefined) reader.resolve(DONE)
    else reject(reader, error)
  }

  /** Ends the watch with an error. If `now` is true, unread events are dropped. */
  #fail(error: unknown, now: boolean): void {
    if (this.#over) return
    this.#error = error
    this.#end(now)
  }

  #end(now: boolean): void {
    if (now) this.#events.takeAll()
    if (this.#over) return
    this.#over = true
    this.#offAbort?.()
    this.#handle.end()
    this.#serve()
  }
}

const reject = (reader: Reader<never>, error: unknown) => reader.reject(error)

// ---- A watch with `initial`

export type InitialItem =
  | { readonly is: 'reset' }
  | { readonly is: 'synced'; readonly revision: number }
  | { readonly is: 'row'; readonly row: Row }
  | { readonly is: 'event'; readonly event: EventResult }

/**
 * Opens a watch that first delivers the present rows. The next batch of rows or changes is requested after
 * the caller has read the whole previous batch.
 */
export function openInitial(
  engine: Engine,
  bounds: Bounds,
  resync: boolean,
  sink: Sink<InitialItem>,
): WatchHandle {
  const stop = new AbortController()
  const steps = followRange(engine, bounds, { resync, signal: stop.signal })
  let untaken = 0
  let isAsking = false
  const ask = () => {
    if (isAsking || untaken > 0 || stop.signal.aborted) return
    isAsking = true
    steps.next().then(
      ({ done, value }) => {
        isAsking = false
        if (done === true) return
        const items = itemsOf(value)
        untaken += items.length
        sink.events(items)
        ask()
      },
      (error: unknown) => sink.over(error),
    )
  }
  ask()
  return {
    taken(items) {
      untaken -= items
      ask()
    },
    end() {
      stop.abort()
      steps.return(undefined).catch(() => {})
    },
  }
}

function itemsOf(step: RangeStep): readonly InitialItem[] {
  switch (step.is) {
    case 'rows':
      return step.rows.map((row) => ({ is: 'row', row }))
    case 'events':
      return step.events.map((event) => ({ is: 'event', event }))
    default:
      return [step]
  }
}
