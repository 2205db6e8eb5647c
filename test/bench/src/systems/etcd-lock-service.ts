// Door: etcd's own services of locks and elections over gRPC (v3lockpb.Lock and v3electionpb.Election). etcd3 does
// not offer the first, and builds the second out of keys in the client: two calls each and their few fields.

import type { Client } from '@grpc/grpc-js'

export interface LockService {
  /** Resolves when it is held, with the key that stands for that. */
  lock(name: string, leaseId: string): Promise<Buffer>
  unlock(key: Buffer): Promise<void>
  /** Resolves when it leads, with what stands for that. */
  campaign(name: string, leaseId: string): Promise<Buffer>
  resign(leader: Buffer): Promise<void>
  close(): void
}

/** Waiters are spread over the members, as etcd3 spreads its calls. */
export async function lockService(ports: readonly number[]): Promise<LockService> {
  const { Client: GrpcClient, credentials } = await import('@grpc/grpc-js')
  const clients = ports.map((port) => new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure()))
  let turn = 0
  const next = () => clients[turn++ % clients.length] as Client
  return {
    async lock(name, leaseId) {
      const answer = await call(next(), 'v3lockpb.Lock/Lock', [
        ...field(1, Buffer.from(name)),
        2 << 3,
        ...varint(BigInt(leaseId)),
      ])
      return fieldOf(answer, 2)
    },
    unlock: async (key) => {
      await call(next(), 'v3lockpb.Lock/Unlock', field(1, key))
    },
    async campaign(name, leaseId) {
      const answer = await call(next(), 'v3electionpb.Election/Campaign', [
        ...field(1, Buffer.from(name)),
        2 << 3,
        ...varint(BigInt(leaseId)),
        ...field(3, Buffer.from('me')),
      ])
      return fieldOf(answer, 2)
    },
    resign: async (leader) => {
      await call(next(), 'v3electionpb.Election/Resign', field(1, leader))
    },
    close: () => {
      for (const client of clients) client.close()
    },
  }
}

const LIMIT_MILLIS = 60_000

function call(client: Client, method: string, request: readonly number[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/${method}`,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
      Buffer.from(request),
      { deadline: Date.now() + LIMIT_MILLIS },
      (error, answer) =>
        error || answer === undefined ? reject(error ?? new Error('no answer')) : resolve(answer),
    )
  })
}

/** A field of bytes. */
const field = (number: number, bytes: Buffer): number[] => [
  (number << 3) | 2,
  ...varint(BigInt(bytes.length)),
  ...bytes,
]

function varint(value: bigint): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return [...bytes, Number(rest)]
}

/** The first field of bytes of that number. */
function fieldOf(message: Buffer, wanted: number): Buffer {
  for (let at = 0; at < message.length; ) {
    const tag = message[at] as number
    let length = 0
    let shift = 0
    let byte: number
    do {
      byte = message[++at] as number
      length |= (byte & 127) << shift
      shift += 7
    } while (byte > 127)
    at++
    if (tag >> 3 === wanted && (tag & 7) === 2) return message.subarray(at, at + length)
    if ((tag & 7) === 2) at += length
  }
  throw new Error(`the answer has no field ${wanted}`)
}
