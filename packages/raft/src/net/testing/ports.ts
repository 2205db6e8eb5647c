// Driver: finds a free port below the range from which the system takes ports for outgoing connections. In
// that range, a dial to a member that is down could get the member's own port, or even connect to itself.

import { createServer } from 'node:net'

/**
 * The two test processes that run at a time have different halves of the range. So none of them gets the port
 * of a member that the other one starts again.
 */
const HALF = 2_500
const LOW = 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 2) * HALF
const HIGH = LOW + HALF
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
