// Driver: free ports on loopback, below the range from which the system gives out ports for outgoing
// connections, so that no connection of a test takes a port that a restarting member is about to listen on.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * The two test processes that run at a time have different halves of the range. So none of them gets the port
 * of a member that the other one starts again.
 */
const HALF = 8_500
const LOW = 15_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 2) * HALF
const HIGH = LOW + HALF
const given = new Set<number>()

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = randomInt(LOW, HIGH)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
