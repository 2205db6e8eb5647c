// Driver: one hold of a lock as callers see it: its mode, and the rotation of its token.

import type { Timer } from '@latchkey/base'
import { type As, type LockMode, OP } from '@latchkey/protocol'
import { BaseHold, type HoldParts } from './base-hold.js'

/**
 * A lock that is held. Release it, or let `await using` do it. A write of `kv` under a shared hold is
 * ERR_FENCED: to write there, call the store itself with the guard `{ key, token, shared: true }`.
 */
export class Hold<S extends As = 'bytes'> extends BaseHold<S> {
  #mode: LockMode
  #rotation: Timer | undefined

  /** Internal. `rotateEvery`: in ms; undefined: the token is rotated only when `rotate` is called. */
  constructor(parts: HoldParts, mode: LockMode, rotateEvery: number | undefined) {
    super(parts)
    this.#mode = mode
    if (rotateEvery !== undefined) this.#rotateAfter(rotateEvery)
  }

  /** 'exclusive', unless it was acquired as 'shared' or downgraded. */
  get mode(): LockMode {
    return this.#mode
  }

  /**
   * Makes an exclusive hold a shared one, in one step: nobody else writes in between. It keeps its token and
   * its lease, and the shared requests that wait first are granted. Does nothing for a shared hold; rejects
   * with ERR_LOCK_LOST or ERR_NOT_OWNER if nothing is held.
   */
  async downgrade(): Promise<void> {
    this.assertHeld()
    if (this.#mode === 'shared') return
    await this.change([OP.downgrade])
    this.#mode = 'shared'
  }

  /**
   * Gives the hold a new, higher token, while the lock is kept; resolves to it. From then on guards with the
   * old token are ERR_FENCED, so that work that was started under it can write no more. Renewals and the
   * release go on as before.
   */
  async rotate(): Promise<number> {
    this.assertHeld()
    await this.change([OP.rotate])
    return this.token
  }

  /** A rotation that fails is tried again at its next time: the hold itself is renewed apart from it. */
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
