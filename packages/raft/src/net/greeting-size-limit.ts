// Driver: closes a connection that sends more bytes before its greeting than a greeting needs.

import type { Duplex } from 'node:stream'

/** In bytes. The longest part of a greeting is the token of a client. */
export const GREETING_LIMIT = 16 * 1024

/**
 * Closes the connection if it sends more than GREETING_LIMIT bytes before its greeting is complete. So a
 * stranger cannot make this member buffer a large frame. The caller calls the returned function when the
 * greeting is complete.
 */
export function watchStranger(socket: { terminate(): void }, raw: Duplex): () => void {
  let received = 0
  const count = (chunk: Uint8Array): void => {
    received += chunk.length
    if (received > GREETING_LIMIT) socket.terminate()
  }
  raw.on('data', count)
  return () => {
    // Node still calls a listener that is removed during an event. NEGATIVE_INFINITY makes this last call
    // harmless.
    received = Number.NEGATIVE_INFINITY
    raw.off('data', count)
  }
}
