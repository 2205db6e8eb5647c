// Driver: whether keys were bound to a session of this store. Law: from the first one on the session is kept alive until the store
// closes, whatever else the store does. Without it: a worker registers itself, waits for work in silence, and its key is gone after 30 s.

export class EphemeralKeys {
  readonly #use: () => () => void
  #inUse = false

  /** `use`: keeps the session alive. */
  constructor(use: () => () => void) {
    this.#use = use
  }

  /** Before a command is sent that binds a key. */
  bind(): void {
    if (this.#inUse) return
    this.#inUse = true
    this.#use()
  }

  get exist(): boolean {
    return this.#inUse
  }
}
