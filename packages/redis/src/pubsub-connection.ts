// Driver: owns the connection that listens for pushed messages. The connection is opened when the first
// caller waits.

import { CONNECTION_OPTIONS } from './redis-connection.js'
import type { RedisClient } from './ioredis-interface.js'

type Wake = (id: string | undefined) => void

/**
 * Law: after each subscription, all waiters are woken, because messages were missed while the connection was
 * lost (EN7). Without this law: the connection is lost, the lock is released, and the first waiter sleeps
 * until its next poll.
 */
export class Subscription {
  readonly #parent: RedisClient
  readonly #channel: string
  readonly #wakes = new Set<Wake>()
  #client: RedisClient | undefined
  #ended = false

  constructor(client: RedisClient, prefix: string) {
    this.#parent = client
    this.#channel = `${prefix}wake`
  }

  on(wake: Wake): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  begin(): void {
    if (this.#client !== undefined || this.#ended) return
    const client = this.#parent.duplicate(CONNECTION_OPTIONS)
    this.#client = client
    client.on('error', () => {})
    client.on('message', (_, id) => this.#wakeAll(id))
    client.on('ready', () => {
      client.subscribe(this.#channel).then(
        () => this.#wakeAll(undefined),
        () => {},
      )
    })
    client.connect().catch(() => {})
  }

  end(): void {
    this.#ended = true
    this.#client?.disconnect()
  }

  #wakeAll(id: string | undefined): void {
    for (const wake of [...this.#wakes]) wake(id)
  }
}
