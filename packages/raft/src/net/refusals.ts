// Driver: owns what has been said about refused handshakes: each peer and reason is logged once, until the peer gets in.

import type { Logger } from '@latchkey/base'
import type { RefusedEvent } from './transport.js'

/** Strangers can make up any number of names: beyond this the oldest is forgotten, and may be logged once more. */
const MOST = 256

interface Said {
  readonly peer: string
  readonly by: 'us' | 'them'
}

export class Refusals {
  readonly #logger: Logger
  readonly #said = new Map<string, Said>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** `where`: the address, for one that did not show who it is. */
  note({ id, by, code, reason, info }: RefusedEvent, where: string): void {
    // A name without credentials is only a claim: then it is the address that counts, and one line for it.
    const known = by === 'them' || info !== undefined
    const peer = known && id !== undefined ? id : where
    // Numbers in a reason come from the other side, who could make up any.
    const key = JSON.stringify([peer, by, code, known ? reason.replace(/\d+/g, '#') : ''])
    if (this.#said.has(key)) return
    if (this.#said.size >= MOST) this.#said.delete(this.#said.keys().next().value as string)
    // One who gets in and then speaks nonsense would be logged again each time.
    this.#said.set(key, { peer: code === 'ERR_PROTOCOL' ? '' : peer, by })
    const fields = { peer: id ?? 'unknown', address: where, code, reason }
    this.#logger.warn(by === 'us' ? 'a member was refused' : 'another member refuses this one', fields)
  }

  /** It got in, or we did there: should it be refused again, that is news. */
  admitted(id: string, by: 'us' | 'them'): void {
    for (const [key, said] of this.#said) if (said.peer === id && said.by === by) this.#said.delete(key)
  }
}
