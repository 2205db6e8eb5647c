// Driver: owns the connection that listens for notifications (LISTEN). This file opens the connection when
// the first caller waits, and opens a new connection after each loss.

import type { Clock, Timer } from '@latchkey/base'
import { channelOf } from './sql-schema.js'
import type { PgListener } from './pg-types.js'

const FIRST_PAUSE = 200
const LONGEST_PAUSE = 10_000

type Wake = (id: string | undefined) => void

/**
 * Law: after each connect, all waiters are woken, because notifications were missed while the connection was
 * lost. Without this law: the connection is lost, the lock is released, and the first waiter sleeps until its
 * next poll.
 */
export class Listening {
  readonly #make: () => Promise<PgListener>
  readonly #channel: string
  readonly #clock: Clock
  readonly #wakes = new Set<Wake>()
  #connection: PgListener | undefined
  #timer: Timer | undefined
  #pause = FIRST_PAUSE
  #begun = false
  #ended = false

  constructor(make: () => Promise<PgListener>, table: string, clock: Clock) {
    this.#make = make
    this.#channel = channelOf(table)
    this.#clock = clock
  }

  on(wake: Wake): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  begin(): void {
    if (this.#begun || this.#ended) return
    this.#begun = true
    void this.#connect()
  }

  async end(): Promise<void> {
    this.#ended = true
    this.#timer?.cancel()
    await this.#connection?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    let connection: PgListener | undefined
    try {
      connection = await this.#make()
      const lost = once(() => this.#lost(connection))
      connection.on('error', lost)
      connection.on('end', lost)
      connection.on('notification', ({ payload }) => this.#wakeAll(payload))
      await connection.connect()
      await connection.query(`LISTEN ${this.#channel}`)
      this.#connection = connection
      if (this.#ended) return await this.end()
      this.#pause = FIRST_PAUSE
      this.#wakeAll(undefined)
    } catch {
      await connection?.end().catch(() => {})
      if (this.#connection === undefined) this.#again()
    }
  }

  #lost(connection: PgListener | undefined): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    connection?.end().catch(() => {})
    this.#again()
  }

  #again(): void {
    if (this.#ended) return
    this.#timer?.cancel()
    this.#timer = this.#clock.after(this.#pause, () => void this.#connect(), { ref: false })
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }

  #wakeAll(id: string | undefined): void {
    for (const wake of [...this.#wakes]) wake(id)
  }
}

function once(run: () => void): () => void {
  let wasRun = false
  return () => {
    if (wasRun) return
    wasRun = true
    run()
  }
}
