// Driver: a port of this machine that nobody listens at just now: below the range from which the system gives out ports for outgoing
// connections. There a dial of a member that is down may take its very port, or even meet itself.

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
