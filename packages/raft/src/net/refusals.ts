// Driver: owns what has been said about refused handshakes: each peer and reason is logged once, until the peer gets in,
// and of each kind one line in ten seconds.

import type { RefusalLog } from '@latchkey/base'
import type { RefusedEvent } from './transport.js'

/** Strangers can make up any number of names: beyond this the oldest is forgotten, and may be logged once more. */
const MOST = 256

interface Said {
  readonly peer: string
  readonly by: 'us' | 'them'
}

export class Refusals {
  readonly #log: RefusalLog
  readonly #said = new Map<string, Said>()

  constructor(log: RefusalLog) {
    this.#log = log
  }

  /** `where`: the address, for one that did not show who it is. `way`: whether it came to us, or we had dialled it. */
  note({ id, by, code, reason, info }: RefusedEvent, where: string, way: 'came' | 'dialled'): void {
    // A name without a proof is only a claim, but for the one that we dialled: then it is the address that counts.
    const proven = info !== undefined
    const peer = (by === 'them' || proven) && id !== undefined ? id : where
    // Without a proof there is one line, whatever reasons are made up; and numbers in a reason come from the other side.
    const key = JSON.stringify([peer, by, code, proven ? reason.replace(/\d+/g, '#') : ''])
    // A stranger's refusals never keep a member's own out of the log.
    const who = by === 'them' ? 'refused-us' : way === 'dialled' ? 'dialled' : proven ? 'member' : 'stranger'
    const kind = `${who}-${code}`
    if (this.#said.has(key)) return this.#log.count('members', kind)
    const fields = { peer: id ?? 'unknown', address: where, code, reason }
    const message = by === 'us' ? 'a member was refused' : 'another member refuses this one'
    if (!this.#log.note('members', kind, message, fields)) return
    if (this.#said.size >= MOST) this.#said.delete(this.#said.keys().next().value as string)
    // One who gets in and then speaks nonsense would be logged again each time.
    this.#said.set(key, { peer: code === 'ERR_PROTOCOL' ? '' : peer, by })
  }

  /** It got in, or we did there: should it be refused again, that is news. */
  admitted(id: string, by: 'us' | 'them'): void {
    for (const [key, said] of this.#said) if (said.peer === id && said.by === by) this.#said.delete(key)
  }
}
