// Driver: a watch as an async iterator. It begins at the call, not at the first next(); what comes waits here, and only so much of
// it (watches.ts).

import { onAbort } from '@latchkey/base'
import {
  type EventResult,
  LatchkeyError,
  type ReadArgs,
  type WatchArgs,
  type WatchEvent,
  toEvent,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { Queue } from '../engine/fifo-queue.js'
import type { WatchHandle } from '../engine/watches.js'

interface Reader {
  resolve(result: IteratorResult<WatchEvent>): void
  reject(error: unknown): void
}

const DONE: IteratorResult<WatchEvent> = { done: true, value: undefined }

export class WatchIterator implements AsyncIterableIterator<WatchEvent> {
  readonly #options: ReadArgs
  readonly #handle: WatchHandle
  readonly #events = new Queue<EventResult>()
  readonly #readers = new Queue<Reader>()
  readonly #abort = () =>
    this.#fail(new LatchkeyError('ERR_ABORTED', undefined, { cause: this.#options.signal?.reason }), true)
  #offAbort: (() => void) | undefined
  #error: unknown
  #over = false

  constructor(engine: Engine, { start, end, from }: WatchArgs, options: ReadArgs) {
    this.#options = options
    this.#handle = engine.watch(start, end, from, {
      events: (events) => this.#arrived(events),
      over: (error) => this.#fail(error, error.code === 'ERR_CLOSED'),
    })
    if (options.signal?.aborted) this.#abort()
    else if (options.signal) this.#offAbort = onAbort(options.signal, this.#abort)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(true)
  }

  next(): Promise<IteratorResult<WatchEvent>> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject })
      this.#serve()
    })
  }

  /** Ends quietly; readers that wait are done. */
  async return(): Promise<IteratorResult<WatchEvent>> {
    this.#end(true)
    return DONE
  }

  async throw(error?: unknown): Promise<IteratorResult<WatchEvent>> {
    this.#end(true)
    throw error
  }

  #arrived(events: readonly EventResult[]): void {
    for (const event of events) this.#events.push(event)
    this.#serve()
  }

  #serve(): void {
    while (this.#readers.length > 0) {
      const event = this.#events.shift()
      if (event) this.#tell(this.#readers.shift() as Reader, event)
      else if (!this.#over) return
      else this.#tellEnd(this.#readers.shift() as Reader)
    }
  }

  #tell(reader: Reader, event: EventResult): void {
    this.#handle.taken(1)
    try {
      reader.resolve({ done: false, value: toEvent(event, this.#options.as) })
    } catch (error) {
      this.#end(true)
      reject(reader, error)
    }
  }

  /** The error once, as an iteration throws; then it is over. */
  #tellEnd(reader: Reader): void {
    const error = this.#error
    this.#error = undefined
    if (error === undefined) reader.resolve(DONE)
    else reject(reader, error)
  }

  /** `now`: what has arrived and was not read is not read any more. */
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

const reject = (reader: Reader, error: unknown) => reader.reject(error)
