// Driver: owns one connection to a server, made with the options of the user's client.
//
// Law: the connection keeps no request to send it later, and sends no request twice. The engine itself
// decides which requests to repeat. ioredis by default queues requests while it is not connected, and repeats
// requests that were not answered. Without this law: for as long as the server is down, no caller knows
// whether its take request will still be applied.

import type { Clock } from '@latchkey/base'
import { notReached } from '@latchkey/lock'
import { toLockError } from './outcome-of-redis-error.js'
import type { RedisArg, RedisClient } from './ioredis-interface.js'
import type { Script } from './lock-lua-scripts.js'

/** In ms, how long a call waits for the connection. */
const CONNECT_PATIENCE = 1_000
const LONGEST_PAUSE = 1_000
const FIRST_PAUSE = 50

export const CONNECTION_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  keyPrefix: '',
  stringNumbers: false,
  retryStrategy: (times: number) => Math.min(times * FIRST_PAUSE, LONGEST_PAUSE),
  // A master that became a replica answers READONLY. The reconnect asks the sentinels for the new master.
  reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
}

export class RedisConnection {
  readonly #client: RedisClient
  readonly #clock: Clock
  #becomesReady: Promise<void> | undefined
  #failure: Error | undefined
  readonly #changed = new Set<() => void>()

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client.duplicate(CONNECTION_OPTIONS)
    this.#clock = clock
    const changed = () => {
      for (const run of [...this.#changed]) run()
    }
    this.#client.on('error', (error) => {
      this.#failure = error
    })
    this.#client.on('ready', changed)
    this.#client.on('close', changed)
    this.#client.on('end', changed)
  }

  /** Bytes in the answer are Buffers. */
  async run(script: Script, args: readonly RedisArg[]): Promise<unknown> {
    const rest = ['0', ...args]
    try {
      return await this.call('EVALSHA', [script.sha, ...rest])
    } catch (error) {
      if (!isUnknownScript(error)) throw error
    }
    return this.call('EVAL', [script.source, ...rest])
  }

  async call(command: string, args: readonly RedisArg[]): Promise<unknown> {
    await this.#ready()
    try {
      return await this.#client.callBuffer(command, [...args])
    } catch (error) {
      throw toLockError(error)
    }
  }

  close(): void {
    this.#client.disconnect()
  }

  #ready(): Promise<void> {
    const { status } = this.#client
    if (status === 'ready') return Promise.resolve()
    // While ioredis pauses before its next attempt to connect, each call fails at once. The engine tries
    // again later, and a quorum has other masters.
    if (status === 'reconnecting' || status === 'close') return Promise.reject(notReached(this.#failure))
    this.#becomesReady ??= this.#connected().finally(() => {
      this.#becomesReady = undefined
    })
    return this.#becomesReady
  }

  #connected(): Promise<void> {
    const { status } = this.#client
    return new Promise((resolve, reject) => {
      const look = () => {
        const isReady = this.#client.status === 'ready'
        timer.cancel()
        this.#changed.delete(look)
        if (isReady) resolve()
        else reject(notReached(this.#failure))
      }
      const timer = this.#clock.after(CONNECT_PATIENCE, look, { ref: false })
      this.#changed.add(look)
      if (status === 'wait' || status === 'end') this.#client.connect().catch(() => {})
    })
  }
}

const isUnknownScript = (error: unknown): boolean => {
  const { cause } = error as { cause?: { message?: unknown } }
  return typeof cause?.message === 'string' && cause.message.startsWith('NOSCRIPT')
}
