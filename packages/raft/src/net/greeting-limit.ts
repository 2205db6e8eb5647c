// Driver: lets go of somebody who says more than a greeting before it has said who it is.

import type { Duplex } from 'node:stream'

/** Who has not said who it is may say this much. The longest part of a greeting is a token. */
export const GREETING_LIMIT = 16 * 1024

/**
 * Ends a connection that sends more than a greeting before it is greeted: a large frame is not even gathered for a stranger.
 * Returns the function that ends the watching, at the greeting.
 */
export function watchStranger(socket: { terminate(): void }, raw: Duplex): () => void {
  let heard = 0
  const count = (chunk: Uint8Array): void => {
    heard += chunk.length
    if (heard > GREETING_LIMIT) socket.terminate()
  }
  raw.on('data', count)
  return () => {
    // A listener that is taken off in the midst of an event still hears that one.
    heard = Number.NEGATIVE_INFINITY
    raw.off('data', count)
  }
}
