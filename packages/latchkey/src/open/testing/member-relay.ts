// Driver: a TCP relay in front of one member. The other members connect to the relay. The relay can cut one
// member off from another, because the relay reads in the handshake which member connects.

import { connect, createServer, type Socket } from 'node:net'
import { freePorts } from './free-ports.js'

interface Pair {
  readonly near: Socket
  readonly far: Socket
  /** The id of the member that connects. Undefined until the first bytes of the member have arrived. */
  from: string | undefined
}

export interface MemberRelay {
  /** The address of the relay. The other members use it as the member's address. */
  readonly url: string
  /** The address at which the member itself listens. */
  readonly listen: string
  /** Stops all bytes between this member and `from`, without closing a connection. */
  cut(from: string): void
  heal(): void
  close(): Promise<void>
}

/**
 * Starts a relay to the member `id`. Each of the ids must have one letter, so that the relay can find the ids
 * in a handshake.
 */
export async function relayTo(id: string, ids: readonly string[]): Promise<MemberRelay> {
  const [port, target] = (await freePorts(2)) as [number, number]
  const pairs = new Set<Pair>()
  const cut = new Set<string>()
  const isCut = ({ from }: Pair) => from !== undefined && cut.has(from)
  const look = (pair: Pair) => {
    for (const socket of [pair.near, pair.far]) {
      if (isCut(pair)) socket.pause()
      else socket.resume()
    }
  }
  const server = createServer((near) => {
    const pair: Pair = { near, far: connect(target, '127.0.0.1'), from: undefined }
    const { far } = pair
    pairs.add(pair)
    near.on('data', (bytes) => {
      pair.from ??= dialler(bytes, id, ids)
      if (isCut(pair)) look(pair)
      else far.write(bytes)
    })
    far.on('data', (bytes) => near.write(bytes))
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
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `ws://127.0.0.1:${port}`,
    listen: `127.0.0.1:${target}`,
    cut: (from) => {
      cut.add(from)
      for (const pair of pairs) look(pair)
    },
    heal: () => {
      cut.clear()
      for (const pair of pairs) look(pair)
    },
    close: () => {
      for (const { near, far } of pairs) for (const socket of [near, far]) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/**
 * Returns the id of the connecting member. A MessagePack text of one letter is the byte 0xa1 and the letter,
 * and a handshake has the sender's id before the receiver's id.
 */
function dialler(bytes: Uint8Array, id: string, ids: readonly string[]): string | undefined {
  const frame = Buffer.from(bytes).toString('latin1')
  return ids.find((from) => frame.includes(`\xa1${from}\xa1${id}`))
}
