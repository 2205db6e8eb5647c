// Rule: how both sides set their WebSockets up, and how they are let go of.

import { CAPS } from '@latchkey/protocol'
import { type Clock, REFUSED_MS } from '@latchkey/base'
import type { RawData, WebSocket } from 'ws'
import { FRAME_LIMIT } from './frames.js'

/** What is beyond is refused by the socket, before it is in memory. */
export const SOCKET_CAPS = {
  perMessageDeflate: false,
  maxPayload: FRAME_LIMIT,
  // Ours are never split; the chunks of one frame come from a network of packets of 500 bytes and more.
  maxFragments: 8,
  maxBufferedChunks: 2048,
  skipUTF8Validation: true,
  // Who is told goodbye may take so long to say it too.
  closeTimeout: REFUSED_MS,
} as const

/** Held by the system or by the socket: a peer is slow beyond, and not even small messages go out. */
export const SOCKET_FULL = 4 * CAPS.frameBytes

export const bytesOf = (data: RawData): Uint8Array =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data

/** Closes with a code, and for good when the other end does not answer in time. Resolves when it is closed. */
export function farewell(socket: WebSocket, clock: Clock, ms: number, code: number): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.CLOSED) return resolve()
    const late = clock.after(ms, () => socket.terminate())
    socket.once('close', () => {
      late.cancel()
      resolve()
    })
    if (socket.readyState === socket.OPEN) socket.close(code)
    else if (socket.readyState === socket.CONNECTING) socket.terminate()
  })
}
