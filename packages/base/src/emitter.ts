// Driver: typed events. A listener that throws does not reach the one who emits, and 'error' is no special word.

export class Emitter<Events extends Record<string, unknown>> {
  #listeners = new Map<keyof Events, Set<(event: never) => void>>()

  /** Returns the function that takes the listener off again. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, set.add(listener))
    return () => set.delete(listener)
  }

  off<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): void {
    this.#listeners.get(name)?.delete(listener)
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as (event: Events[Name]) => void)(event)
      } catch (error) {
        // The listener's own fault: told as the runtime tells it, after the work that emitted is done.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}
