// Driver: ends a socket that was refused: a last answer, a moment to read it, and then the socket is gone.
//
// Law: a refused socket is gone REFUSED_MS after its refusal, whatever the other side does. Without it the story is: a stranger is
// told 403, never closes its side and never reads, and its socket counts among the connections for ever.

import type { Duplex } from 'node:stream'
import type { Clock } from './clock.js'

/** So long a socket that was refused, or told goodbye, may take to be read and closed by the other side. */
export const REFUSED_MS = 500

export function endRefused(socket: Duplex, answer: string | Uint8Array, clock: Pick<Clock, 'after'>): void {
  if (socket.destroyed) return
  socket.on('error', () => socket.destroy())
  const late = clock.after(REFUSED_MS, () => socket.destroy(), { ref: false })
  socket.once('close', () => late.cancel())
  // What it still says is read and dropped: bytes that lie unread when a socket is closed take the answer with them.
  socket.resume()
  socket.end(answer)
}
