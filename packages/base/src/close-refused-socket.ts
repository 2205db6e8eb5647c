// Driver: sends a last answer to a refused socket, waits a moment for the other side to read it, and destroys
// the socket.
//
// Law: a refused socket is destroyed after REFUSED_MS. Without this law: a client gets a 403, never reads it,
// and never closes its side. Its socket stays open for ever.

import type { Duplex } from 'node:stream'
import type { Clock } from './clock.js'

/** In ms, how long the other side has to read the last answer and to close its side. */
export const REFUSED_MS = 500

export function endRefused(socket: Duplex, answer: string | Uint8Array, clock: Pick<Clock, 'after'>): void {
  if (socket.destroyed) return
  socket.on('error', () => socket.destroy())
  const late = clock.after(REFUSED_MS, () => socket.destroy(), { ref: false })
  socket.once('close', () => late.cancel())
  // Input that arrives from now on is read and thrown away. If unread input remained at the close, the kernel
  // would reset the connection, and the other side could lose the answer.
  socket.resume()
  socket.end(answer)
}
