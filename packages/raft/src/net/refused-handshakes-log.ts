// Driver: logs refused handshakes. Each peer and reason is logged once until the peer is admitted, and each
// kind of refusal has at most one line in ten seconds.

import type { RefusalLog } from '@latchkey/base'
import type { RefusedEvent } from './transport-interface.js'

/**
 * How many refusals are remembered. Strangers can invent any number of names. So beyond this number the
 * oldest refusal is forgotten, and may be logged once more.
 */
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

  /**
   * `where` is the address of a side that did not give its id. `way` says whether the other side dialled this
   * member ('came') or this member dialled the other side ('dialled').
   */
  note({ id, by, code, reason, info }: RefusedEvent, where: string, way: 'came' | 'dialled'): void {
    // An id without a proof is only a claim. So if this member refused the other side and the other side has
    // proved nothing, the refusal is remembered by the address instead of the id.
    const proven = info !== undefined
    const peer = (by === 'them' || proven) && id !== undefined ? id : where
    // All refusals without a proof share one line, even if a stranger invents many reasons. Digits in a
    // reason are replaced, because the other side can invent them too.
    const key = JSON.stringify([peer, by, code, proven ? reason.replace(/\d+/g, '#') : ''])
    // Refusals of strangers are counted separately. So the refusals of members are logged even if strangers
    // cause very many refusals.
    const who = by === 'them' ? 'refused-us' : way === 'dialled' ? 'dialled' : proven ? 'member' : 'stranger'
    const kind = `${who}-${code}`
    if (this.#said.has(key)) return this.#log.count('members', kind)
    const fields = { peer: id ?? 'unknown', address: where, code, reason }
    const message = by === 'us' ? 'a member was refused' : 'another member refuses this one'
    if (!this.#log.note('members', kind, message, fields)) return
    if (this.#said.size >= MOST) this.#said.delete(this.#said.keys().next().value as string)
    // Without the empty name, a peer that is admitted and then sends malformed messages would be logged again
    // after each admission.
    this.#said.set(key, { peer: code === 'ERR_PROTOCOL' ? '' : peer, by })
  }

  /** The handshake has succeeded, so a later refusal of this peer is logged again. */
  admitted(id: string, by: 'us' | 'them'): void {
    for (const [key, said] of this.#said) if (said.peer === id && said.by === by) this.#said.delete(key)
  }
}
