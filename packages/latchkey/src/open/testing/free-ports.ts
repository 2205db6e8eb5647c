// Driver: finds free ports on this machine for tests. The ports are below the range that the system uses for
// outgoing connections. So no outgoing connection takes a port before the member listens there. Each test
// process begins at another port.

import { createServer } from 'node:net'

/**
 * The two test processes that run at a time have different halves of the range. So neither process gets the
 * port of a member that the other process starts again.
 */
const HALF = 8_500
const LOW = 15_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 2) * HALF
const HIGH = LOW + HALF
/** How far apart the first ports of two test processes are. */
const APART = 97
let next = LOW + ((process.pid * APART) % (HIGH - LOW))

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = next
    next = next + 1 < HIGH ? next + 1 : LOW
    if (await isFree(port)) ports.push(port)
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

export async function addresses<Id extends string>(ids: readonly Id[]): Promise<Record<Id, string>> {
  const ports = await freePorts(ids.length)
  return Object.fromEntries(ids.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`])) as Record<Id, string>
}
