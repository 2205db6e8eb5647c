// Driver: a typed event emitter. An error of a listener does not reach the caller of `emit`, and an event
// named 'error' is not special.

import { didYouMean } from './nearest-name.js'

interface Registration {
  readonly listener: (event: never) => void
  readonly once: boolean
  /**
   * True after the listener was removed. A removed listener is not called any more, not even for an event
   * that is being emitted.
   */
  off: boolean
}

/**
 * These laws are the same as in Node's EventEmitter:
 * - Listeners are called in the order in which they were added. A listener that was added twice is called
 *   twice.
 * - A listener that is added during an event is not called for that event.
 * - `off` removes the last registration of a function, also one that `once` has added.
 */
export class Emitter<Events extends Record<string, unknown>> {
  #registrations = new Map<keyof Events, readonly Registration[]>()
  readonly #names: readonly (keyof Events & string)[] | undefined

  /** `names` is the list of all events. If the list is given, a listener for any other event is refused. */
  constructor(names?: readonly (keyof Events & string)[]) {
    this.#names = names
  }

  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#add(name, listener, false)
  }

  once<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#add(name, listener, true)
  }

  off<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): void {
    const registration = this.#registrations.get(name)?.findLast((known) => known.listener === listener)
    if (registration !== undefined) this.#remove(name, registration)
  }

  /**
   * `failed` receives each error that a listener throws. By default the error becomes an uncaught exception.
   */
  emit<Name extends keyof Events>(
    name: Name,
    event: Events[Name],
    failed: (error: unknown) => void = throwLater,
  ): void {
    for (const registration of this.#registrations.get(name) ?? []) {
      if (registration.off) continue
      if (registration.once) this.#remove(name, registration)
      try {
        ;(registration.listener as (event: Events[Name]) => void)(event)
      } catch (error) {
        failed(error)
      }
    }
  }

  #add(name: keyof Events, listener: Registration['listener'], once: boolean): () => void {
    // Node's `events.once(emitter, name)` always adds a listener of 'error' too, so 'error' is not refused.
    if (this.#names !== undefined && name !== 'error' && !(this.#names as readonly unknown[]).includes(name))
      throw unknownEvent(name, this.#names)
    if (typeof listener !== 'function') throw new TypeError('listener must be a function')
    const registration = { listener, once, off: false }
    this.#registrations.set(name, [...(this.#registrations.get(name) ?? []), registration])
    return () => this.#remove(name, registration)
  }

  #remove(name: keyof Events, registration: Registration): void {
    registration.off = true
    const left = (this.#registrations.get(name) ?? []).filter((known) => known !== registration)
    if (left.length > 0) this.#registrations.set(name, left)
    else this.#registrations.delete(name)
  }
}

function unknownEvent(name: unknown, known: readonly string[]): TypeError {
  const shown = typeof name === 'string' ? name.slice(0, 64) : typeof name
  const hint = (typeof name === 'string' && didYouMean(name, known)) || `: known are ${known.join(', ')}`
  return new TypeError(`unknown event ${JSON.stringify(shown)}${hint}`)
}

const throwLater = (thrown: unknown): void =>
  queueMicrotask(() => {
    throw thrown
  })
