// Rule: the settings of the WebSockets between members, and the function that closes a WebSocket.

import { CAPS } from '@latchkey/protocol'
import { type Clock, REFUSED_MS } from '@latchkey/base'
import type { RawData, WebSocket } from 'ws'
import { FRAME_LIMIT } from './frames.js'

/** Limits of received frames. The WebSocket closes the connection before a larger frame is in memory. */
export const SOCKET_CAPS = {
  perMessageDeflate: false,
  maxPayload: FRAME_LIMIT,
  // Members never split a frame into WebSocket fragments. A frame arrives in chunks of at least 500 bytes, so
  // the largest frame needs fewer than 600 chunks. More and smaller chunks would cost too much memory.
  maxFragments: 8,
  maxBufferedChunks: 2048,
  skipUTF8Validation: true,
  // In ms.
  closeTimeout: REFUSED_MS,
} as const

/**
 * In bytes. While the socket holds more bytes, the peer counts as slow, and no message is sent to the peer.
 */
export const SOCKET_FULL = 4 * CAPS.frameBytes

export const bytesOf = (data: RawData): Uint8Array =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data

/**
 * Closes the WebSocket with a close handshake. If the other side does not answer within `ms`, the socket is
 * destroyed. Resolves when the socket is closed.
 */
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
