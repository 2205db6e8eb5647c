// Rule: the settings of WebSockets between members, and how they are closed.

import { CAPS } from '@latchkey/protocol'
import { type Clock, REFUSED_MS } from '@latchkey/base'
import type { RawData, WebSocket } from 'ws'
import { FRAME_LIMIT } from './frames.js'

/** A WebSocket refuses a frame beyond these limits before the frame is in memory. */
export const SOCKET_CAPS = {
  perMessageDeflate: false,
  maxPayload: FRAME_LIMIT,
  // Members never split their frames into fragments. A frame arrives in network packets of at least 500
  // bytes, so the number of its chunks is limited.
  maxFragments: 8,
  maxBufferedChunks: 2048,
  skipUTF8Validation: true,
  // How long the other side has to answer the close handshake.
  closeTimeout: REFUSED_MS,
} as const

/**
 * In bytes, how much the operating system or the socket may hold. If more bytes wait for a peer, the peer
 * counts as slow, and not even small messages are sent to it.
 */
export const SOCKET_FULL = 4 * CAPS.frameBytes

export const bytesOf = (data: RawData): Uint8Array =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data

/**
 * Closes a WebSocket with a code. If the other side does not answer in time, destroys the socket. Resolves
 * when the socket is closed.
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
