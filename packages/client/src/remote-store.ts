// Driver: the store that connect() returns: all calls of a Store, and `reload` for its token
// and certificates.

import type { As } from '@latchkey/protocol'
import { type ClientReload, checkReload, type Credentials } from './connect-options.js'
import { ClientStore, type StoreOptions } from './store/create-store.js'
import type { Store } from './store/store-interface.js'

export interface RemoteStore<S extends As = 'bytes'> extends Store<S> {
  /**
   * Replaces the token or the certificates. The connection stays open, and each new connection uses the new
   * credentials. If the token or a certificate is wrong, rejects with a TypeError and keeps the former
   * credentials.
   * ```ts
   * await store.reload({ token: nextToken })
   * ```
   */
  reload(options: ClientReload): Promise<void>
}

export class ConnectedStore<S extends As = 'bytes'> extends ClientStore<S> implements RemoteStore<S> {
  readonly #credentials: Credentials

  /** `credentials` are read at each dial of a member, and `reload` changes them. */
  constructor(options: StoreOptions, credentials: Credentials) {
    super(options)
    this.#credentials = credentials
  }

  async reload(options: ClientReload): Promise<void> {
    Object.assign(this.#credentials, checkReload(options, this.#credentials))
    this.engine.retry()
  }
}
