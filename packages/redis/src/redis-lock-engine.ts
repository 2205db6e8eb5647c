// Driver: the lock engine on one Redis server, or on the master that the sentinels report.

import type { Capabilities, LockEngine, TakeRequest } from '@latchkey/lock'
import { refusedByServer } from '@latchkey/lock'
import type { RedisConnection } from './redis-connection.js'
import { RedisCalls } from './redis-calls.js'
import type { Scripts } from './lock-lua-scripts.js'
import type { Subscription } from './pubsub-connection.js'

interface RedisTerms {
  readonly prefix: string
  readonly scripts: Scripts
  readonly survives: 'restart' | 'nothing'
}

export class RedisEngine extends RedisCalls implements LockEngine {
  readonly capabilities: Capabilities
  readonly #connection: RedisConnection
  readonly #subscription: Subscription
  readonly #end: () => void
  #checked: Promise<void> | undefined

  constructor(
    connection: RedisConnection,
    subscription: Subscription,
    { prefix, scripts, survives }: RedisTerms,
    end: () => void,
  ) {
    super(connection, scripts, prefix)
    this.#connection = connection
    this.#subscription = subscription
    this.#end = end
    this.capabilities = { fencing: 'told', queue: 'fair', wakeUp: 'push', survives, time: 'server' }
  }

  override async take(request: TakeRequest): ReturnType<RedisCalls['take']> {
    if (this.capabilities.survives === 'restart') await this.#durable()
    const answer = await super.take(request)
    // begin() subscribes to the wake-up messages. A message that the server publishes before the subscription
    // is ready is lost. So Subscription wakes all waiters as soon as the subscription is ready.
    if (answer.queued) this.#subscription.begin()
    return answer
  }

  listen(wake: (id: string | undefined) => void): () => void {
    return this.#subscription.on(wake)
  }

  async close(): Promise<void> {
    this.#subscription.end()
    this.#connection.close()
    this.#end()
  }

  /** Rejects if the server does not write each hold to its disk, because a restart would lose the holds. */
  #durable(): Promise<void> {
    this.#checked ??= this.#checkDurable().catch((error: unknown) => {
      this.#checked = undefined
      throw error
    })
    return this.#checked
  }

  async #checkDurable(): Promise<void> {
    const reply = await this.#connection.call('CONFIG', ['GET', 'append*']).catch((error: unknown) => {
      // Many hosted services forbid CONFIG. The engine then trusts the user's option `survives`.
      if ((error as { code?: unknown }).code === 'ERR_FORBIDDEN') return undefined
      throw error
    })
    const settings = new Map(pairs(reply))
    for (const [name, value] of [
      ['appendonly', 'yes'],
      ['appendfsync', 'always'],
    ] as const) {
      const is = settings.get(name)
      if (is !== undefined && is !== value)
        throw refusedByServer(
          `survives: 'restart' needs a server with ${name} ${value}; this one has ${name} ${is}. Set it, or leave the option out.`,
        )
    }
  }
}

/**
 * Decodes the reply to CONFIG GET: a list in which each name is followed by its value, or an object. The
 * version of the Redis protocol decides which of the two forms ioredis returns.
 */
function pairs(reply: unknown): [string, string][] {
  if (Array.isArray(reply))
    return reply.flatMap((name: unknown, i) => (i % 2 === 0 ? [[String(name), String(reply[i + 1])]] : []))
  return Object.entries(reply ?? {}).map(([name, value]) => [name, String(value)])
}
