// Driver: owns the renewal of the holds it was given, of any number of locks of any number of stores (docs/locks.md, 8).

import { Emitter } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { LockObject } from './lock-interface.js'
import type { Renewals } from './renewals.js'
import type { HoldValidity } from './hold-validity.js'

// A type, not an interface: an Emitter's events are a Record.
export type WatchdogEvents = {
  /** A hold of that lock was lost: the very DistributedLock that was made with this watchdog. */
  lost: { readonly lock: LockObject; readonly error: LatchkeyError }
}

/**
 * Renews the locks that were made with it, at 2/3 of their leases at the latest; one serves any number of locks, and all that fall due
 * together go in one request. Yours to create and to close.
 * ```ts
 * const watchdog = new Watchdog()
 * watchdog.on('lost', ({ error }) => console.error(error.code)) // ERR_LOCK_LOST
 * const lock = store.getDistributedLock('orders/42', '10s', watchdog)
 * ```
 */
export class Watchdog implements Disposable {
  readonly #events = new Emitter<WatchdogEvents>(['lost'])
  /** Of each store whose locks it was given. */
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

  /** No timer is left, and no renewal leaves any more. Holds go on to the end of their lease. */
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

  /** Internal. */
  tellLost(lock: LockObject, error: LatchkeyError): void {
    this.#events.emit('lost', { lock, error })
  }
}
