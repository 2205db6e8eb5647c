// Driver: waits in the queue of one lock, until the lock is granted or the HTTP caller stops waiting. The
// caller has chosen the id of the hold.
//
// Laws
// - A pushed message about a grant is only a hint. The caller holds the lock only after a renewal with the
//   grant's token has succeeded. The renewal also shows the cluster that the waiter is alive.
// - A caller that stops waiting leaves the queue. If the lock was granted at the same moment, the command
//   that leaves the queue also releases the lock.
// - This file listens for pushed messages before it asks to join the queue. Without this law: the lock is
//   granted before the listener is added, and the caller never learns of the grant.

import { lockCommand, type LockCallOptions, type LockPort, obstacleError } from '@latchkey/lock'
import {
  LatchkeyError,
  OP,
  type OwnerResult,
  READ,
  type RenewResult,
  renewedOwners,
  type TicketResult,
  type TryLockResult,
} from '@latchkey/protocol'
import type { AcquireBody } from './lock-body.js'
import { isGranted, tokenOf } from './owner-json.js'

export interface Acquired {
  readonly owner: OwnerResult
  /**
   * The cluster time of the log entry with the first command of this wait. The HTTP answer computes from this
   * time for how long the caller may rely on the hold.
   */
  readonly entryTime: number
}

export class LockWait {
  readonly #port: LockPort
  readonly #key: Uint8Array
  readonly #ask: AcquireBody
  readonly #options: LockCallOptions
  readonly #isShared: () => boolean
  #wake: () => void = () => {}
  #news = false
  /**
   * True if the member has opened a new session of the cluster since the caller joined the queue. The
   * caller's place in the queue then still belongs to the old session.
   */
  #isMoved = false
  /**
   * True after the timer of the wait has fired. A comparison with the clock would not do: if the timer fires
   * a moment early, the wait would begin again without a timer.
   */
  #over = false

  /** `isShared` tells whether another call with the same lock and id waits at this member. */
  constructor(
    port: LockPort,
    key: Uint8Array,
    ask: AcquireBody,
    options: LockCallOptions,
    isShared: () => boolean,
  ) {
    this.#isShared = isShared
    this.#port = port
    this.#key = key
    this.#ask = ask
    this.#options = options
  }

  /** Resolves to undefined if the wait has ended without a grant. */
  async acquire(): Promise<Acquired | undefined> {
    const { wait } = this.#ask
    const until = wait === null ? 0 : this.#port.clock.now() + wait
    const offGrant = this.#port.onGranted(this.#key, this.#ask.id, () => this.#wakeUp())
    const offAttach = this.#port.onAttached((isNewSession) => {
      this.#isMoved ||= isNewSession
      this.#wakeUp()
    })
    const timer = wait === null ? undefined : this.#port.clock.after(wait, this.#end, { ref: false })
    this.#options.signal?.addEventListener('abort', this.#wakeUp)
    try {
      return await this.#queue(until)
    } finally {
      offGrant()
      offAttach()
      timer?.cancel()
      this.#options.signal?.removeEventListener('abort', this.#wakeUp)
    }
  }

  readonly #wakeUp = (): void => {
    this.#news = true
    this.#wake()
  }

  readonly #end = (): void => {
    this.#over = true
    this.#wakeUp()
  }

  async #queue(until: number): Promise<Acquired | undefined> {
    const [first, queued] = await this.#enqueue(until).catch((error: unknown) => {
      // The cluster may have put the caller into the queue, although the request failed here.
      if (this.#ask.wait !== null) this.#leave()
      throw error
    })
    const entryTime = first[7]
    if (!queued) return { owner: first, entryTime }
    try {
      for (;;) {
        const owner = await this.#turn(until)
        if (owner !== undefined) return { owner, entryTime }
        this.#options.signal?.throwIfAborted()
        if (this.#over) break
      }
    } catch (error) {
      this.#leave()
      throw error
    }
    this.#leave()
    return undefined
  }

  async #enqueue(until: number): Promise<readonly [OwnerResult, boolean]> {
    const { id, lease, context, wait, share = null, flow } = this.#ask
    const left = wait === null ? null : Math.max(1, Math.ceil(until - this.#port.clock.now()))
    const attempt = [OP.tryLock, this.#key, null, false, id, lease, 0, context, left] as const
    const command = lockCommand(attempt, share, flow)
    const answer = await this.#port.command(command, this.#options).result
    const [owner, queued, obstacle] = answer as TryLockResult
    if (obstacle !== undefined) throw obstacleError(obstacle, this.#key, this.#port.decoding)
    return [owner, queued]
  }

  /**
   * Waits for a pushed message or the timer, and then reads the caller's place in the queue. Resolves to
   * undefined if the caller does not hold the lock yet.
   */
  async #turn(until: number): Promise<OwnerResult | undefined> {
    if (!this.#news) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#news = false
    if (this.#options.signal?.aborted || this.#over) return undefined
    const read = [READ.ticket, this.#key, this.#ask.id] as const
    const [state, owner] = (await this.#port.read(read, this.#options)) as TicketResult
    if (state === 'granted' && owner !== null) return this.#confirm(owner)
    if (state === 'queued' && !this.#isMoved) return undefined
    this.#isMoved = false
    // If the caller's place in the queue still exists, this request gives the place to the new session. If
    // the place has ended with the old session, or the grant has expired, the request joins the queue again.
    const [again, queued] = await this.#enqueue(until)
    return queued || !isGranted(again) ? undefined : again
  }

  async #confirm(granted: OwnerResult): Promise<OwnerResult | undefined> {
    const { id, lease } = this.#ask
    const list = [[this.#key, id, tokenOf(granted), lease]] as const
    const answer = await this.#port.command([OP.renew, list], this.#options).result
    const [owner] = renewedOwners(list, answer as RenewResult)
    if (owner === undefined) throw new LatchkeyError('ERR_PROTOCOL')
    if (isGranted(owner)) return owner
    this.#news = true
    return undefined
  }

  /**
   * The command has no timeout. The client engine repeats the command until a member answers, or until this
   * member's session of the cluster ends. If another call with the same lock and id waits, the place in the
   * queue stays for that call.
   */
  #leave(): void {
    if (this.#isShared()) return
    this.#port.command([OP.cancelWait, this.#key, this.#ask.id]).result.catch(() => {})
  }
}
