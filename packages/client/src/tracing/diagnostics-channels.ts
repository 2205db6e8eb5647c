// Rule: the channels of node:diagnostics_channel, for programs that listen without OpenTelemetry. Each
// channel is a TracingChannel of Node. Its events start, end, asyncStart, asyncEnd and error of one call
// carry the same message object.

import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'

/** A call of a store: one request, with all its retries. */
export interface CallMessage {
  readonly operation: string
  readonly namespace: string
  /**
   * The address of the member that answered. Undefined if the member of this process answered, or if no
   * member answered.
   */
  address: string | undefined
  error?: unknown
}

/** A wait in a queue, at a latch or at a barrier. */
export interface WaitMessage {
  readonly kind: string
  readonly namespace: string
  readonly keys: readonly string[]
  /** True if the wait was successful. Undefined during the wait, or after an error. */
  isGranted: boolean | undefined
  error?: unknown
}

/** The work that withLock runs while it holds the lock. */
export interface WorkMessage {
  readonly namespace: string
  readonly key: string
  readonly fencingToken: number
  error?: unknown
}

export const CHANNELS = {
  call: tracingChannel<unknown, CallMessage>('latchkey:call'),
  wait: tracingChannel<unknown, WaitMessage>('latchkey:wait'),
  work: tracingChannel<unknown, WorkMessage>('latchkey:work'),
} as const

export class Publication<Message extends { error?: unknown }> {
  readonly #channel: TracingChannel<unknown, Message>
  readonly message: Message

  constructor(channel: TracingChannel<unknown, Message>, message: Message) {
    this.#channel = channel
    this.message = message
  }

  /**
   * Runs `work` with the message as the context of the channel. An async `work` returns at its first await,
   * and `end` is published at that moment.
   */
  run<T>(work: () => T): T {
    const { start, end } = this.#channel
    try {
      return start.runStores(this.message, work) as T
    } finally {
      end.publish(this.message)
    }
  }

  end(error: unknown): void {
    const { asyncEnd, asyncStart, error: failed } = this.#channel
    if (error !== undefined) {
      this.message.error = error
      failed.publish(this.message)
    }
    asyncStart.publish(this.message)
    asyncEnd.publish(this.message)
  }
}
