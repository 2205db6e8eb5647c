// Driver: one hold of a lock in the form that callers use: its mode, and the rotation of its token.

import type { Timer } from '@latchkey/base'
import { type As, type LockMode, OP } from '@latchkey/protocol'
import { BaseHold, type HoldParts } from './base-hold.js'

/**
 * A lock that is held. Call `release`, or let `await using` release the lock. If the hold is shared, a write
 * of `hold.kv` fails with ERR_FENCED. To write under a shared hold, call the store itself with the guard
 * `{ key, token, shared: true }`.
 */
export class Hold<S extends As = 'bytes'> extends BaseHold<S> {
  #mode: LockMode
  #rotation: Timer | undefined

  /**
   * Internal: `store.locks` creates holds. `rotateEvery` is the interval in ms at which the hold gets a new
   * token automatically. Undefined means never.
   */
  constructor(parts: HoldParts, mode: LockMode, rotateEvery: number | undefined) {
    super(parts)
    this.#mode = mode
    if (rotateEvery !== undefined) this.#rotateAfter(rotateEvery)
  }

  /** 'shared' if the hold was acquired as 'shared' or was downgraded. Otherwise 'exclusive'. */
  get mode(): LockMode {
    return this.#mode
  }

  /**
   * Changes an exclusive hold into a shared hold in one step, so no other caller writes in between. The hold
   * keeps its token and its lease. The shared requests at the front of the queue get their holds. For a
   * shared hold, the call does nothing. The call rejects with ERR_LOCK_LOST or ERR_NOT_OWNER if the hold is
   * over.
   */
  async downgrade(): Promise<void> {
    this.assertHeld()
    if (this.#mode === 'shared') return
    await this.change([OP.downgrade])
    this.#mode = 'shared'
  }

  /**
   * Gives the hold a new, larger token, and resolves to the token. The holder keeps the lock. From then on,
   * guards with the old token fail with ERR_FENCED, so work with the old token can write no more.
   */
  async rotate(): Promise<number> {
    this.assertHeld()
    await this.change([OP.rotate])
    return this.token
  }

  /** A rotation that fails is tried again after the next interval. */
  #rotateAfter(every: number): void {
    this.#rotation = this.parts.port.clock.after(
      every,
      () => {
        if (!this.held) return
        this.rotate()
          .catch(() => {})
          .finally(() => this.#rotateAfter(every))
      },
      { ref: false },
    )
  }

  override async release(): Promise<void> {
    this.#rotation?.cancel()
    await super.release()
  }
}
