// Driver: writes a streamed answer, until it is whole, fails, or the caller has gone.
//
// Laws
// - The next piece is requested only when the caller has read so much that its connection takes more. Without
//   this law: the history of a whole day waits in memory for one slow reader.
// - An endless answer is written to at least every HEARTBEAT_MS, so that proxies keep it open and a caller
//   that has gone without a word is noticed. A caller that has read nothing for two heartbeats is ended.
// - An answer that fails in the middle is not ended in the regular way: the caller must not take what it has
//   for the whole.

import type { ServerResponse } from 'node:http'
import { type Clock, onAbort, type Timer } from '@latchkey/base'
import type { Stream } from './http-ports.js'

export const HEARTBEAT_MS = 10_000
const HEARTBEAT = ': heartbeat\n\n'

interface StreamPorts {
  readonly clock: Clock
  /** The caller has gone, or the member stops: the pieces end by it too. */
  readonly signal: AbortSignal
  /** Called after each write. */
  wrote(response: ServerResponse): void
}

export async function writeStream(
  { pieces, isEndless }: Stream,
  response: ServerResponse,
  ports: StreamPorts,
): Promise<void> {
  const heartbeat = isEndless ? new Heartbeat(ports.clock, response) : undefined
  // A caller that does not read is not waited for any longer.
  const offAbort = onAbort(ports.signal, () => {
    if (response.writableNeedDrain || !isEndless) response.destroy()
  })
  try {
    for (;;) {
      const { done, value } = await pieces.next()
      if (done === true || response.destroyed) break
      const hasRoom = response.write(value)
      ports.wrote(response)
      if (!hasRoom) await drained(response)
    }
    response.end()
  } catch (error) {
    response.destroy()
    throw error
  } finally {
    heartbeat?.stop()
    offAbort()
    await pieces.return?.(undefined)
  }
}

class Heartbeat {
  readonly #clock: Clock
  readonly #response: ServerResponse
  #timer: Timer
  #wasFull = false

  constructor(clock: Clock, response: ServerResponse) {
    this.#clock = clock
    this.#response = response
    this.#timer = this.#next()
  }

  #next(): Timer {
    return this.#clock.after(HEARTBEAT_MS, () => this.#beat(), { ref: false })
  }

  #beat(): void {
    const isFull = this.#response.writableNeedDrain
    if (isFull && this.#wasFull) return void this.#response.destroy()
    this.#wasFull = isFull
    if (!isFull) this.#response.write(HEARTBEAT)
    this.#timer = this.#next()
  }

  stop(): void {
    this.#timer.cancel()
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}
