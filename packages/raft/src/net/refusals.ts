// Driver: owns what has been said about refused handshakes: each peer and reason is logged once, until the peer gets in.

import type { Logger } from '@latchkey/base'
import type { RefusedEvent } from './transport.js'

/** Strangers can make up any number of names: beyond this the oldest is forgotten, and may be logged once more. */
const MOST = 256

export class Refusals {
  readonly #logger: Logger
  readonly #said = new Map<string, string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** `where`: the address, for one that did not show who it is. */
  note({ id, by, code, reason, info }: RefusedEvent, where: string): void {
    // A name without credentials is only a claim: then it is the address that counts, and one line for it.
    const known = by === 'them' || info !== undefined
    const peer = known && id !== undefined ? id : where
    const key = JSON.stringify([peer, by, code, known ? reason : ''])
    if (this.#said.has(key)) return
    if (this.#said.size >= MOST) this.#said.delete(this.#said.keys().next().value as string)
    this.#said.set(key, peer)
    const fields = { peer: id ?? 'unknown', address: where, code, reason }
    this.#logger.warn(by === 'us' ? 'a member was refused' : 'another member refuses this one', fields)
  }

  admitted(id: string): void {
    for (const [key, peer] of this.#said) if (peer === id) this.#said.delete(key)
  }
}
