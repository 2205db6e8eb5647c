// Driver: one wait in a lock's queue under the caller's id, from joining the queue until the grant is
// confirmed or the caller leaves.
//
// Laws:
// - A push of a grant is only a hint. A grant counts when a renewal under its token has succeeded, which also
//   shows the store that the waiter lives.
// - A caller that stops waiting leaves the queue. If it was granted the lock at the same moment, leaving also
//   releases the lock.
// - The listener for pushes is added before the request to join is sent, so that no grant is missed between
//   the two.

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
  /** Cluster time of the first log entry that this request made. */
  readonly stamped: number
}

export class LockWait {
  readonly #port: LockPort
  readonly #key: Uint8Array
  readonly #ask: AcquireBody
  readonly #options: LockCallOptions
  readonly #isShared: () => boolean
  #wake: () => void = () => {}
  #news = false
  /** The position in the queue belongs to an earlier session. */
  #isMoved = false
  /**
   * Set by the timer alone: a timer may fire a moment early, and a comparison of clocks would then wait for
   * ever.
   */
  #over = false

  /** `isShared`: another call with this key and id is under way at this member. */
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

  /** Resolves with the hold, or with the Owner that prevents it at the end of the wait. */
  async acquire(): Promise<Acquired> {
    const { wait } = this.#ask
    const until = wait === null ? 0 : this.#port.clock.now() + wait
    const offGrant = this.#port.onGranted(this.#key, this.#ask.id, () => this.#told())
    const offAttach = this.#port.onAttached((isNewSession) => {
      this.#isMoved ||= isNewSession
      this.#told()
    })
    const timer = wait === null ? undefined : this.#port.clock.after(wait, this.#end, { ref: false })
    this.#options.signal?.addEventListener('abort', this.#told)
    try {
      return await this.#queue(until)
    } finally {
      offGrant()
      offAttach()
      timer?.cancel()
      this.#options.signal?.removeEventListener('abort', this.#told)
    }
  }

  readonly #told = (): void => {
    this.#news = true
    this.#wake()
  }

  readonly #end = (): void => {
    this.#over = true
    this.#told()
  }

  async #queue(until: number): Promise<Acquired> {
    const [first, queued] = await this.#enqueue(until).catch((error: unknown) => {
      // The request may have joined the queue although it failed here.
      if (this.#ask.wait !== null) this.#leave()
      throw error
    })
    const stamped = first[7]
    if (!queued) return { owner: first, stamped }
    try {
      for (;;) {
        const owner = await this.#turn(until)
        if (owner !== undefined) return { owner, stamped }
        this.#options.signal?.throwIfAborted()
        if (this.#over) break
      }
    } catch (error) {
      this.#leave()
      throw error
    }
    this.#leave()
    return { owner: first, stamped }
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

  /** Waits for a push or a timer, then reads the state of the ticket. undefined: the lock is not ours yet. */
  async #turn(until: number): Promise<OwnerResult | undefined> {
    if (!this.#news) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#news = false
    if (this.#options.signal?.aborted || this.#over) return undefined
    const read = [READ.ticket, this.#key, this.#ask.id] as const
    const [state, owner] = (await this.#port.read(read, this.#options)) as TicketResult
    if (state === 'granted' && owner !== null) return this.#confirm(owner)
    if (state === 'queued' && !this.#isMoved) return undefined
    this.#isMoved = false
    // The ticket ended with its session, or its grant expired: a new ticket is taken for the rest of the
    // wait. After a new session the same request keeps the position and moves it to that session.
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
   * Goes on in the background: the session engine sends it until it is answered or the session is over. A
   * second call under the same id uses the same ticket, and will leave the queue itself.
   */
  #leave(): void {
    if (this.#isShared()) return
    this.#port.command([OP.cancelWait, this.#key, this.#ask.id]).result.catch(() => {})
  }
}
