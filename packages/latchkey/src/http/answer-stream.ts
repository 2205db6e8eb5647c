// Driver: writes a streamed answer until the answer is complete, the answer fails, or the caller disconnects.
//
// Laws
// - The member asks for the next piece only after the caller's connection accepts more bytes. Without this
//   law: one slow reader makes the member keep the history of a whole day in memory.
// - An answer without an end gets some bytes at least every HEARTBEAT_MS. So proxies keep the connection
//   open, and the member notices when the caller has disappeared. A caller that reads nothing for two
//   heartbeats is disconnected.
// - If an answer fails after its beginning, the connection is destroyed before the last chunk of the chunked
//   encoding is sent. Without this law: the caller believes that a part of the answer is the whole answer.

import type { ServerResponse } from 'node:http'
import { type Clock, onAbort, type Timer } from '@latchkey/base'
import type { Stream } from './http-route-dependencies.js'

/** In ms. An answer without an end gets a heartbeat at this interval. */
export const HEARTBEAT_MS = 10_000
const HEARTBEAT = ': heartbeat\n\n'

interface StreamPorts {
  readonly clock: Clock
  /** Aborts when the caller has disconnected or the member stops. The pieces then end too. */
  readonly signal: AbortSignal
  wrote(response: ServerResponse): void
}

export async function writeStream(
  { pieces, isEndless }: Stream,
  response: ServerResponse,
  ports: StreamPorts,
): Promise<void> {
  const heartbeat = isEndless ? new Heartbeat(ports.clock, response) : undefined
  // At this signal, the pieces of an endless answer end, and the loop below then ends the answer. A finite
  // answer is not complete, so its connection is destroyed. The connection of a caller that does not read is
  // also destroyed, because the loop would wait for this caller.
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
