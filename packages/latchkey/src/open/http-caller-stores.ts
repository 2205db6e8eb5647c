// Driver: owns the stores of HTTP callers. Each store works over a client connection with the identity of its
// caller. The connection checks the rights, as for a WebSocket, so no HTTP route has to know which rights a
// call needs.

import type { ClientStore } from '@latchkey/client'
import { isLimited } from '../member/required-rights.js'
import { type Identity, RIGHTS } from '../member/rights.js'

export class HttpCallerStores {
  /** The member's own store, which may do everything. */
  readonly #own: ClientStore
  readonly #make: (who: Identity) => ClientStore
  readonly #stores = new Map<Identity, ClientStore>()
  #closed = false

  constructor(own: ClientStore, make: (who: Identity) => ClientStore) {
    this.#own = own
    this.#make = make
  }

  /** Returns the store of an identity. There are as many stores as tokens in use. */
  of(who: Identity): ClientStore {
    if (this.#closed || mayAll(who)) return this.#own
    const known = this.#stores.get(who) ?? this.#make(who)
    this.#stores.set(who, known)
    return known
  }

  /** Ends the stores of identities that are not valid any more. Their calls under way end with ERR_CLOSED. */
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
