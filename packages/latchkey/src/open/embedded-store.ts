// Driver: the store that open() gives: every call of a Store, and what can be changed of the member beneath it while it runs.

import { ClientStore, type Store, type StoreOptions } from '@latchkey/client'
import type { As } from '@latchkey/protocol'
import type { ReloadOptions } from './reload.js'

export interface EmbeddedStore<S extends As = 'bytes'> extends Store<S> {
  /**
   * Takes new certificates and tokens into use, with no connection lost but those of tokens that are no more. Rejects with a TypeError
   * where something is wrong with them, and with ERR_UNAUTHORIZED where a new certificate has expired or is not valid yet; then what was in
   * force stays.
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
