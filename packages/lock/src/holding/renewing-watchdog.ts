// Driver: renews the holds that it watches, for any number of locks and stores (docs/locks.md, section 8).

import { Emitter } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { LockObject } from './distributed-lock-interface.js'
import type { Renewals } from './renewals.js'
import type { HoldValidity } from './hold-validity.js'

export type WatchdogEvents = {
  /**
   * Emitted when the hold of `lock` was lost. `lock` is a DistributedLock that was created with this
   * watchdog.
   */
  lost: { readonly lock: LockObject; readonly error: LatchkeyError }
}

/**
 * Renews the locks that were created with this watchdog, at the latest when 2/3 of their leases are over. One
 * watchdog serves any number of locks. One request carries all renewals that are due together. Create and
 * close the watchdog yourself.
 * ```ts
 * const watchdog = new Watchdog()
 * watchdog.on('lost', ({ error }) => console.error(error.code)) // ERR_LOCK_LOST
 * const lock = store.getDistributedLock('orders/42', '10s', watchdog)
 * ```
 */
export class Watchdog implements Disposable {
  readonly #events = new Emitter<WatchdogEvents>(['lost'])
  readonly #stores = new Set<Renewals>()
  #closed = false

  on<Name extends keyof WatchdogEvents>(name: Name, listener: (event: WatchdogEvents[Name]) => void): this {
    this.#events.on(name, listener)
    return this
  }

  off<Name extends keyof WatchdogEvents>(name: Name, listener: (event: WatchdogEvents[Name]) => void): this {
    this.#events.off(name, listener)
    return this
  }

  once<Name extends keyof WatchdogEvents>(name: Name, listener: (event: WatchdogEvents[Name]) => void): this {
    this.#events.once(name, listener)
    return this
  }

  /** The same as `on`. */
  addListener<Name extends keyof WatchdogEvents>(
    name: Name,
    listener: (event: WatchdogEvents[Name]) => void,
  ): this {
    return this.on(name, listener)
  }

  /** The same as `off`. */
  removeListener<Name extends keyof WatchdogEvents>(
    name: Name,
    listener: (event: WatchdogEvents[Name]) => void,
  ): this {
    return this.off(name, listener)
  }

  get closed(): boolean {
    return this.#closed
  }

  /**
   * Ends the renewals of all holds that this watchdog renews. The holds stay in force until their leases end.
   */
  close(): void {
    this.#closed = true
    for (const renewals of this.#stores) renewals.stop(this)
    this.#stores.clear()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Internal: renews that hold from now on. */
  watch(renewals: Renewals, validity: HoldValidity): void {
    if (this.#closed) return
    if (!this.#stores.has(renewals)) {
      for (const other of this.#stores) if (other.closed) this.#stores.delete(other)
      this.#stores.add(renewals)
    }
    renewals.add(validity, this)
  }

  /** Internal: emits 'lost'. */
  emitLost(lock: LockObject, error: LatchkeyError): void {
    this.#events.emit('lost', { lock, error })
  }
}
