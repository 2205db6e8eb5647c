// Driver: owns the stores of HTTP callers, one for each identity. Such a store uses a client connection with
// the caller's identity. That connection checks the rights, as it does for a WebSocket, so no HTTP route
// needs to check them.

import type { ClientStore } from '@latchkey/client'
import { isLimited } from '../member/required-rights.js'
import { type Identity, RIGHTS } from '../member/rights.js'

export class HttpCallerStores {
  /** The store that open() returned, which has all rights. */
  readonly #own: ClientStore
  readonly #make: (who: Identity) => ClientStore
  readonly #stores = new Map<Identity, ClientStore>()
  #closed = false

  constructor(own: ClientStore, make: (who: Identity) => ClientStore) {
    this.#own = own
    this.#make = make
  }

  /** Returns the store for the identity. There are at most as many stores as tokens. */
  of(who: Identity): ClientStore {
    if (this.#closed || mayAll(who)) return this.#own
    const known = this.#stores.get(who) ?? this.#make(who)
    this.#stores.set(who, known)
    return known
  }

  /**
   * Closes the stores of identities that are no longer valid. Open calls of these stores end with ERR_CLOSED.
   */
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

const mayAll = (who: Identity): boolean =>
  !isLimited(who) && RIGHTS.every((right) => who.rights.includes(right))
