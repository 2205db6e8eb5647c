// Driver: remembers whether this store has put ephemeral keys.
//
// Law: after the first ephemeral key, the session is kept alive until the store closes, even if the store
// sends nothing else. Without this law: a worker registers itself with an ephemeral key, and then waits for
// work without a request. After 30 s the worker's session ends, and the members delete the key.

export class EphemeralKeys {
  readonly #use: () => () => void
  #inUse = false

  /** `use` keeps the session alive until its returned function is called. */
  constructor(use: () => () => void) {
    this.#use = use
  }

  /** Keeps the session alive from now on. The caller next sends a command that puts an ephemeral key. */
  bind(): void {
    if (this.#inUse) return
    this.#inUse = true
    this.#use()
  }

  get exist(): boolean {
    return this.#inUse
  }
}
