// Driver: the store that open() returns. Besides the calls of a Store, this store has `reload` for the
// member's certificates and tokens.

import { ClientStore, type Store, type StoreOptions } from '@latchkey/client'
import type { As } from '@latchkey/protocol'
import type { ReloadOptions } from './check-reloaded-certificates-and-tokens.js'

export interface EmbeddedStore<S extends As = 'bytes'> extends Store<S> {
  /**
   * Replaces certificates and tokens. A connection is closed if its token or certificate is no longer
   * accepted. Rejects with a TypeError if a certificate or token is wrong. Rejects with ERR_UNAUTHORIZED if a
   * new certificate is expired or not valid yet. After a rejection, the old certificates and tokens stay in
   * use.
   */
  reload(options: ReloadOptions): Promise<void>
}

export class OwnStore<S extends As = 'bytes'> extends ClientStore<S> implements EmbeddedStore<S> {
  readonly #reload: (options: ReloadOptions) => void

  constructor(options: StoreOptions, reload: (options: ReloadOptions) => void) {
    super(options)
    this.#reload = reload
  }

  async reload(options: ReloadOptions): Promise<void> {
    this.#reload(options)
  }
}
