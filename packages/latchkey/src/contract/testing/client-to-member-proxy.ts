// Driver: a proxy between a client and a member, for tests. The proxy can drop the member's answers and close
// connections.

import { connect, createServer, type Socket } from 'node:net'

export interface Wire {
  readonly url: string
  /** Drops all answers from now on, until break() is called. */
  loseAnswers(): void
  /** Closes all connections. New connections work normally. */
  break(): void
  close(): Promise<void>
}

export async function wireTo(url: string): Promise<Wire> {
  const target = new URL(url)
  const pairs = new Set<{ near: Socket; far: Socket }>()
  let losing = false
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const pair = { near, far }
    pairs.add(pair)
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => losing || near.write(bytes))
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        other.destroy()
        pairs.delete(pair)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const breakAll = () => {
    for (const { near, far } of pairs) {
      near.destroy()
      far.destroy()
    }
    losing = false
  }
  return {
    url: `ws://127.0.0.1:${port}`,
    loseAnswers: () => {
      losing = true
    },
    break: breakAll,
    close: () => {
      breakAll()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
