// Driver: owns the stores of HTTP callers, one for each identity. The client connection of such a store has
// the caller's identity and checks the rights. So no HTTP route needs to check rights.

import type { ClientStore } from '@latchkey/client'
import { ANONYMOUS, type Identity } from '../member/identity-and-rights.js'

export class HttpCallerStores {
  /** The member's own store. Without configured tokens, every caller uses this store. */
  readonly #own: ClientStore
  readonly #make: (who: Identity) => ClientStore
  readonly #stores = new Map<Identity, ClientStore>()
  #closed = false

  constructor(own: ClientStore, make: (who: Identity) => ClientStore) {
    this.#own = own
    this.#make = make
  }

  /**
   * Returns the store of the identity `who`. There are at most as many stores as tokens. A token with all
   * rights also has its own store. If the callers with this token used the member's own store, their watches
   * would continue after the removal of the token.
   */
  of(who: Identity): ClientStore {
    if (this.#closed || who === ANONYMOUS) return this.#own
    const known = this.#stores.get(who) ?? this.#make(who)
    this.#stores.set(who, known)
    return known
  }

  /** Closes the stores of all other identities. Open calls of these stores end with ERR_CLOSED. */
  keepOnly(isKnown: (who: Identity) => boolean): void {
    for (const [who, store] of this.#stores) {
      if (isKnown(who)) continue
      this.#stores.delete(who)
      void store.close().catch(() => {})
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled([...this.#stores.values()].map((store) => store.close()))
    this.#stores.clear()
  }
}
