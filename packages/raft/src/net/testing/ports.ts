// Driver: finds a free port below the range from which the system takes ports for outgoing connections. In
// that range, a dial to a member that is down could get the member's own port, or even connect to itself.

import { createServer } from 'node:net'

const LOW = 10_000
const HIGH = 15_000
const APART = 89
let next = LOW + ((process.pid * APART) % (HIGH - LOW))

export async function freePort(): Promise<number> {
  for (;;) {
    const port = next
    next = next + 1 < HIGH ? next + 1 : LOW
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
