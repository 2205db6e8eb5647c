// Driver: owns the stream on which a client renews all its leases.

import type { Clock, Timer } from '@latchkey/base'
import { mayHaveArrived } from '@latchkey/lock'
import type { EtcdClient, KeepAliveConnection } from './etcd-types.js'

/**
 * In ms. If the server does not answer within this time, the client ends the stream, because the server may
 * be paused or unreachable. The next stream may go to another server.
 */
const PATIENCE = 2_000

interface Asked {
  readonly resolve: (ttl: number) => void
  readonly reject: (error: Error) => void
}

/**
 * Law: an answer counts only for requests that were sent before the answer on the same stream. If no answer
 * comes, the hold ends by its holder's own clock. Without this law: a client that is cut off from the servers
 * uses a lease that the servers have ended.
 */
export class KeepAliveStream {
  readonly #client: EtcdClient
  readonly #clock: Clock
  #connection: Promise<KeepAliveConnection> | undefined
  #asked = new Map<string, Asked[]>()
  #timer: Timer | undefined

  constructor(client: EtcdClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /** Resolves to the new length of the lease in ms, or to 0 if the lease has ended. */
  keep(lease: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const list = this.#asked.get(lease)
      if (list === undefined) this.#asked.set(lease, [{ resolve, reject }])
      else list.push({ resolve, reject })
      this.#timer ??= this.#clock.after(PATIENCE, () => this.#drop(), { ref: false })
      this.#connection ??= this.#connect()
      const asking = this.#connection
      asking.then(
        (connection) => connection.write({ ID: lease }),
        (error: Error) => {
          if (this.#connection === asking) this.#drop(error)
        },
      )
    })
  }

  close(): void {
    this.#drop()
  }

  #connect(): Promise<KeepAliveConnection> {
    const opened: Promise<KeepAliveConnection> = this.#client.leaseClient
      .leaseKeepAlive()
      .then((connection) => {
        const isPresent = () => this.#connection === opened
        const lost = (error?: Error) => {
          if (isPresent()) this.#drop(error)
        }
        connection.on('error', lost)
        connection.on('end', lost)
        connection.on('data', ({ ID, TTL }) => {
          if (isPresent()) this.#answered(ID, Math.max(0, Number(TTL)) * 1_000)
        })
        return connection
      })
    return opened
  }

  #answered(lease: string, ttl: number): void {
    const list = this.#asked.get(lease)
    const first = list?.shift()
    if (list?.length === 0) this.#asked.delete(lease)
    first?.resolve(ttl)
    this.#timer?.cancel()
    this.#timer =
      this.#asked.size === 0 ? undefined : this.#clock.after(PATIENCE, () => this.#drop(), { ref: false })
  }

  #drop(error?: Error): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const [connection, asked] = [this.#connection, this.#asked]
    this.#connection = undefined
    this.#asked = new Map()
    connection?.then(
      (one) => one.end(),
      () => {},
    )
    for (const list of asked.values()) for (const { reject } of list) reject(mayHaveArrived(error))
  }
}
