// Driver: typed events. A listener that throws does not reach the one who emits, and 'error' is no special word.

interface Ear {
  readonly listener: (event: never) => void
  readonly once: boolean
  /** Taken off: it hears nothing any more, also not what is being told just now. */
  off: boolean
}

/**
 * Laws, those of Node's emitter, which people know:
 * - listeners are told in the order in which they came, one that was added twice twice;
 * - one that is added while an event is told does not hear that event;
 * - `off` takes the last of equal ones, and also one that was added by `once`.
 */
export class Emitter<Events extends Record<string, unknown>> {
  #ears = new Map<keyof Events, readonly Ear[]>()

  /** Returns the function that takes the listener off again. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#add(name, listener, false)
  }

  once<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    return this.#add(name, listener, true)
  }

  off<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): void {
    const ear = this.#ears.get(name)?.findLast((known) => known.listener === listener)
    if (ear !== undefined) this.#remove(name, ear)
  }

  /** `failed` is given what a listener throws; without it the runtime is, after the work that emitted is done. */
  emit<Name extends keyof Events>(
    name: Name,
    event: Events[Name],
    failed: (error: unknown) => void = throwLater,
  ): void {
    for (const ear of this.#ears.get(name) ?? []) {
      if (ear.off) continue
      if (ear.once) this.#remove(name, ear)
      try {
        ;(ear.listener as (event: Events[Name]) => void)(event)
      } catch (error) {
        failed(error)
      }
    }
  }

  #add(name: keyof Events, listener: Ear['listener'], once: boolean): () => void {
    if (typeof listener !== 'function') throw new TypeError('listener must be a function')
    const ear = { listener, once, off: false }
    this.#ears.set(name, [...(this.#ears.get(name) ?? []), ear])
    return () => this.#remove(name, ear)
  }

  #remove(name: keyof Events, ear: Ear): void {
    ear.off = true
    const left = (this.#ears.get(name) ?? []).filter((known) => known !== ear)
    if (left.length > 0) this.#ears.set(name, left)
    else this.#ears.delete(name)
  }
}

/** The listener's own fault: told as the runtime tells it. */
const throwLater = (thrown: unknown): void =>
  queueMicrotask(() => {
    throw thrown
  })
