// Driver: closes a connection that sends more bytes than a greeting needs before its greeting is complete.

import type { Duplex } from 'node:stream'

/**
 * In bytes, the most that a connection may send before its greeting is complete. The longest part of a
 * greeting is a token.
 */
export const GREETING_LIMIT = 16 * 1024

/**
 * Closes a connection that sends more than GREETING_LIMIT bytes before its greeting is complete, so that a
 * stranger cannot make this member buffer a large frame. When the greeting is complete, the caller calls the
 * returned function, which ends the limit.
 */
export function watchStranger(socket: { terminate(): void }, raw: Duplex): () => void {
  let heard = 0
  const count = (chunk: Uint8Array): void => {
    heard += chunk.length
    if (heard > GREETING_LIMIT) socket.terminate()
  }
  raw.on('data', count)
  return () => {
    // A listener that is removed while an event is emitted is still called for that event. NEGATIVE_INFINITY
    // makes that last call harmless.
    heard = Number.NEGATIVE_INFINITY
    raw.off('data', count)
  }
}
