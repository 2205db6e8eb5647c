// Driver: owns the renewal of the holds it was given, of any number of locks of any number of stores (LOCKS.md, 8).

import { Emitter } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import { Crowd } from './crowd.js'
import type { LockObject } from './lock.js'
import type { LockPort } from './port.js'
import { Renewals } from './renewals.js'
import type { Tenure } from './tenure.js'

// A type, not an interface: an Emitter's events are a Record.
export type WatchdogEvents = {
  /** A hold of that lock was lost: the very DistributedLock that was made with this watchdog. */
  lost: { readonly lock: LockObject; readonly error: LatchkeyError }
}

/**
 * Renews the locks that were made with it, at 2/3 of their leases; one serves any number of locks, and all that fall due together go
 * in one request. Yours to create and to close.
 * ```ts
 * const watchdog = new Watchdog()
 * watchdog.on('lost', ({ error }) => console.error(error.code)) // ERR_LOCK_LOST
 * const lock = store.getDistributedLock('orders/42', '10s', watchdog)
 * ```
 */
export class Watchdog implements Disposable {
  readonly #events = new Emitter<WatchdogEvents>()
  readonly #renewals = new WeakMap<LockPort, Renewals>()
  /** Those that renew something just now. */
  readonly #active = new Crowd<Renewals>()
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
    this.#active.forEach((renewals) => {
      this.#active.delete(renewals)
      renewals.stop()
    })
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Internal: renews that hold from now on. */
  watch(port: LockPort, tenure: Tenure): void {
    if (this.#closed) return
    let renewals = this.#renewals.get(port)
    if (renewals === undefined) {
      renewals = new Renewals(port)
      this.#renewals.set(port, renewals)
    }
    this.#active.add(renewals)
    renewals.add(tenure)
  }

  /** Internal: before a complete release is sent, and after a loss. */
  unwatch(port: LockPort, tenure: Tenure): void {
    const renewals = this.#renewals.get(port)
    if (renewals === undefined) return
    renewals.remove(tenure)
    if (renewals.size === 0) this.#active.delete(renewals)
  }

  /** Internal. */
  tellLost(lock: LockObject, error: LatchkeyError): void {
    this.#events.emit('lost', { lock, error })
  }
}
