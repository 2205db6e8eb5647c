// Driver: waits once for a set of locks under the caller's id, until all locks are granted or the caller
// leaves.
//
// Laws
// - A pushed message about a grant is only a hint. The caller holds the set when a repeated request is
//   answered with the grant. The repeated request also renews every lock and shows the cluster that the
//   waiter is alive.
// - A caller that stops waiting leaves all queues. If the set was granted at the same moment, the same
//   command releases the set.
// - The listeners for pushed messages are added before the first request is sent. Without this law: a grant
//   between the two is missed.

import type { LockCallOptions, LockPort } from '@latchkey/lock'
import {
  type ContextArg,
  type FlowArg,
  type KeyModeArg,
  OP,
  type TicketArg,
  type TryLockAllResult,
} from '@latchkey/protocol'

export interface SetAsk {
  readonly id: string
  readonly list: readonly KeyModeArg[]
  readonly lease: number
  /** How long to wait for the set, in ms. `null` means one attempt without a wait. */
  readonly wait: number | null
  readonly context: ContextArg
  /** Undefined if the caller names no flow. */
  readonly flow: FlowArg | undefined
  /** The session of a connection with which the holds end. Undefined if the caller names none. */
  readonly session: string | undefined
}

export interface SetAnswer {
  /** The result of the last request. 'queued' means that the wait ended without a grant. */
  readonly result: TryLockAllResult
  /**
   * The time from the first request to the request that was answered with this result, in ms of this member's
   * clock.
   */
  readonly waitedMillis: number
}

export class LockSetWait {
  readonly #port: LockPort
  readonly #ask: SetAsk
  readonly #options: LockCallOptions
  readonly #isShared: () => boolean
  #wake: () => void = () => {}
  #isWoken = false
  #isOver = false

  /** `isShared` tells whether another call for the same set and id is in progress at this member. */
  constructor(port: LockPort, ask: SetAsk, options: LockCallOptions, isShared: () => boolean) {
    this.#port = port
    this.#ask = ask
    this.#options = options
    this.#isShared = isShared
  }

  async acquire(): Promise<SetAnswer> {
    const { wait, list, id } = this.#ask
    const { signal } = this.#options
    const granted = list.map(([key]) => this.#port.onGranted(key, id, this.#told))
    const offs = [...granted, this.#port.onAttached(this.#told)]
    const timer = wait === null ? undefined : this.#port.clock.after(wait, this.#end, { ref: false })
    signal?.addEventListener('abort', this.#told)
    try {
      return await this.#run()
    } catch (error) {
      // The member may have applied a request that failed here, so the set must leave the queues.
      if (wait !== null) this.#leave()
      throw error
    } finally {
      for (const off of offs) off()
      timer?.cancel()
      signal?.removeEventListener('abort', this.#told)
    }
  }

  readonly #told = (): void => {
    this.#isWoken = true
    this.#wake()
  }

  readonly #end = (): void => {
    this.#isOver = true
    this.#wake()
  }

  async #run(): Promise<SetAnswer> {
    const began = this.#port.clock.now()
    for (;;) {
      this.#isWoken = false
      const sent = this.#port.clock.now()
      const waitedMillis = sent - began
      const result = await this.#request(waitedMillis)
      if (result[0] !== 'queued') return { result, waitedMillis }
      if (!this.#isWoken && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#options.signal?.throwIfAborted()
      if (!this.#isOver) continue
      this.#leave()
      return { result, waitedMillis: this.#port.clock.now() - began }
    }
  }

  async #request(waited: number): Promise<TryLockAllResult> {
    const { id, list, lease, context, wait, flow } = this.#ask
    const left = wait === null ? null : Math.max(1, Math.ceil(wait - waited))
    const ask = [OP.tryLockAll, id, list, null, lease, context, left] as const
    const command = flow === undefined ? ask : ([...ask, flow] as const)
    return (await this.#port.command(command, this.#options).result) as TryLockAllResult
  }

  /**
   * Leaves the queues in the background. The command is repeated until a member answers it, or the session
   * ends.
   */
  #leave(): void {
    if (this.#isShared()) return
    const tickets = this.#ask.list.map(([key]): TicketArg => [key, this.#ask.id])
    this.#port.command([OP.releaseAll, tickets]).result.catch(() => {})
  }
}
