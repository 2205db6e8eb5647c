// Test: a helper that makes a handshake over a plain WebSocket, for a test that then sends frames of its own.

import { EMPTY, newNonce } from '@latchkey/base'
import type { WebSocket } from 'ws'
import type { Self } from '../handshake-frames.js'
import { DiallingHandshake } from '../handshake-steps.js'
import { bytesOf } from '../websocket-settings.js'

/** Makes a handshake as the member `self`. Calls `entered` when the dialled member has admitted `self`. */
export function dialAs(self: Self, to: string, socket: WebSocket, entered: () => void): void {
  const ports = { self: () => self, admit: () => undefined, newNonce, channel: EMPTY }
  const handshake = new DiallingHandshake(ports, to)
  socket.on('open', () => socket.send(handshake.greeting))
  socket.on('message', (data) => {
    const step = handshake.receive(bytesOf(data))
    if (step.next === 'wait') socket.send(step.send)
    else if (step.next === 'admitted') entered()
    else socket.terminate()
  })
}
