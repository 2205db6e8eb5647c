// Driver: free ports on loopback, below the range from which the system gives out ports for outgoing
// connections, so that no connection of a test takes a port that a restarting member is about to listen on.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const LOW = 15_000
const HIGH = 32_000
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
