// Driver: waits for a set of locks, until all locks are granted or the HTTP caller stops waiting. The caller
// has chosen the id of the set.
//
// Laws
// - A pushed message about a grant is only a hint. After a hint, this file repeats the command. The caller
//   holds the set only if the command's answer says so. The repeated command also renews every lock.
// - A caller that stops waiting leaves all queues. If the set was granted at the same moment, the command
//   that leaves the queues also releases the set.
// - This file listens for pushed messages before it sends the first request. Without this law: a lock is
//   granted before the listener is added, and the caller never learns of the grant.

import type { LockCallOptions, LockPort } from '@latchkey/lock'
import {
  type ContextArg,
  type FlowArg,
  type KeyModeArg,
  OP,
  type TicketArg,
  type TryLockAllResult,
} from '@latchkey/protocol'

export interface LockSetRequest {
  readonly id: string
  readonly list: readonly KeyModeArg[]
  readonly lease: number
  /** In ms. `null` means one attempt without a wait. */
  readonly wait: number | null
  readonly context: ContextArg
  /**
   * The flow that the caller names: work that takes its locks one at a time. The cluster finds deadlocks
   * between flows.
   */
  readonly flow: FlowArg | undefined
  /** The session of the HTTP caller (sessions-of-open-http-requests.ts) whose end also ends the holds. */
  readonly session: string | undefined
}

export interface LockSetResult {
  /** The answer to the last command. 'queued' means that the wait ended without a grant. */
  readonly result: TryLockAllResult
  /** In ms, from the first command to the last command. If the result is 'queued', to the end of the wait. */
  readonly waitedMillis: number
}

export class LockSetWait {
  readonly #port: LockPort
  readonly #ask: LockSetRequest
  readonly #options: LockCallOptions
  readonly #isShared: () => boolean
  #wake: () => void = () => {}
  #isWoken = false
  #isOver = false

  /** `isShared` tells whether another call for the same locks and id waits at this member. */
  constructor(port: LockPort, ask: LockSetRequest, options: LockCallOptions, isShared: () => boolean) {
    this.#port = port
    this.#ask = ask
    this.#options = options
    this.#isShared = isShared
  }

  async acquire(): Promise<LockSetResult> {
    const { wait, list, id } = this.#ask
    const { signal } = this.#options
    const granted = list.map(([key]) => this.#port.onGranted(key, id, this.#wakeUp))
    const offs = [...granted, this.#port.onAttached(this.#wakeUp)]
    const timer = wait === null ? undefined : this.#port.clock.after(wait, this.#end, { ref: false })
    signal?.addEventListener('abort', this.#wakeUp)
    try {
      return await this.#run()
    } catch (error) {
      // The cluster may have applied the request, although the request failed here.
      if (wait !== null) this.#leave()
      throw error
    } finally {
      for (const off of offs) off()
      timer?.cancel()
      signal?.removeEventListener('abort', this.#wakeUp)
    }
  }

  readonly #wakeUp = (): void => {
    this.#isWoken = true
    this.#wake()
  }

  readonly #end = (): void => {
    this.#isOver = true
    this.#wake()
  }

  async #run(): Promise<LockSetResult> {
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
   * The command has no timeout. The client engine repeats the command until a member answers, or until this
   * member's session of the cluster ends.
   */
  #leave(): void {
    if (this.#isShared()) return
    const tickets = this.#ask.list.map(([key]): TicketArg => [key, this.#ask.id])
    this.#port.command([OP.releaseAll, tickets]).result.catch(() => {})
  }
}
