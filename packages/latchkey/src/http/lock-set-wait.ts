// Driver: one wait for a set of locks under the caller's id, until all of them are granted or the
// caller leaves.
//
// Laws
// - A push of a grant is only a hint. The set counts as held when the same request, sent again,
//   is answered so,
//   which also renews every lock and shows the store that the waiter lives.
// - A caller that stops waiting leaves all queues. If it was granted the set at the same moment, leaving also
//   releases the set.
// - The listeners for pushes are added before the first request is sent.

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
  /** null: one attempt, without waiting. */
  readonly wait: number | null
  readonly context: ContextArg
  /** undefined: none is named. */
  readonly flow: FlowArg | undefined
}

export interface SetAnswer {
  /** 'queued': the wait is over. */
  readonly result: TryLockAllResult
  /** From the first request to the one that was answered with the result, ms of this member's clock. */
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

  /** `isShared`: another call for this set and id is under way at this member. */
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
      // A request that failed here may have been applied.
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

  /** Goes on in the background until the members have answered, or the session is over. */
  #leave(): void {
    if (this.#isShared()) return
    const tickets = this.#ask.list.map(([key]): TicketArg => [key, this.#ask.id])
    this.#port.command([OP.releaseAll, tickets]).result.catch(() => {})
  }
}
