// Driver: writes a streamed answer until the answer is complete, the answer fails, or the caller disconnects.
//
// Laws
// - The next piece is requested only after the caller has read so much that its connection accepts more
//   bytes. Without this law: the history of a whole day waits in memory for one slow reader.
// - An endless answer gets some bytes at least every HEARTBEAT_MS. So proxies keep the answer open, and a
//   failed write reveals a caller that has disappeared. A caller that has read nothing for two heartbeats is
//   disconnected.
// - An answer that fails in the middle is cut off, without the regular end of an HTTP answer. Without this
//   law: the caller takes a part of the answer for the whole.

import type { ServerResponse } from 'node:http'
import { type Clock, onAbort, type Timer } from '@latchkey/base'
import type { Stream } from './http-ports.js'

export const HEARTBEAT_MS = 10_000
const HEARTBEAT = ': heartbeat\n\n'

interface StreamPorts {
  readonly clock: Clock
  /** Aborts when the caller has disconnected or the member stops. The source of the pieces then ends too. */
  readonly signal: AbortSignal
  /** The stream calls this function after each write. */
  wrote(response: ServerResponse): void
}

export async function writeStream(
  { pieces, isEndless }: Stream,
  response: ServerResponse,
  ports: StreamPorts,
): Promise<void> {
  const heartbeat = isEndless ? new Heartbeat(ports.clock, response) : undefined
  // A caller that does not read is disconnected at once, because the end of the answer would never be sent.
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
