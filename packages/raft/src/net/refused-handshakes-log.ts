// Driver: logs refused handshakes. Each pair of peer and reason is logged once, and again only after the peer
// was admitted. Each kind of refusal gets at most one line in ten seconds.

import type { RefusalLog } from '@latchkey/base'
import type { RefusedEvent } from './transport-interface.js'

/**
 * How many logged refusals are remembered. Strangers can invent any number of names, so the oldest refusals
 * are forgotten.
 */
const MOST = 256

interface Said {
  readonly peer: string
  readonly by: 'us' | 'them'
}

export class RefusedHandshakesLog {
  readonly #log: RefusalLog
  readonly #said = new Map<string, Said>()

  constructor(log: RefusalLog) {
    this.#log = log
  }

  /**
   * Logs each refusal once. `where` is the network address of the other side. `way` is 'came' if the other
   * side dialled this member, and 'dialled' if this member dialled.
   */
  note({ id, by, code, reason, info }: RefusedEvent, where: string, way: 'came' | 'dialled'): void {
    // Without a proof, an id is only a claim. So if this member refused a side that has proved nothing, the
    // refusal is remembered by the network address.
    const proven = info !== undefined
    const peer = (by === 'them' || proven) && id !== undefined ? id : where
    // A side without a proof can invent reasons, so its reasons are not part of the key. Digits are replaced
    // in all other reasons, because reasons may contain numbers that always change.
    const key = JSON.stringify([peer, by, code, proven ? reason.replace(/\d+/g, '#') : ''])
    // The log takes at most one line of each kind in ten seconds. So refusals of strangers have a kind of
    // their own. Otherwise strangers could suppress the log lines about members.
    const who = by === 'them' ? 'refused-us' : way === 'dialled' ? 'dialled' : proven ? 'member' : 'stranger'
    const kind = `${who}-${code}`
    if (this.#said.has(key)) return this.#log.count('members', kind)
    const fields = { peer: id ?? 'unknown', address: where, code, reason }
    const message = by === 'us' ? 'a member was refused' : 'another member refuses this one'
    if (!this.#log.note('members', kind, message, fields)) return
    if (this.#said.size >= MOST) this.#said.delete(this.#said.keys().next().value as string)
    // Malformed messages (ERR_PROTOCOL) come from admitted peers. The admission of a peer forgets the
    // refusals under its name. So these refusals are remembered under an empty name, and are not logged again
    // after each admission.
    this.#said.set(key, { peer: code === 'ERR_PROTOCOL' ? '' : peer, by })
  }

  /** Called when the peer is admitted. Later refusals of this peer are logged again. */
  admitted(id: string, by: 'us' | 'them'): void {
    for (const [key, said] of this.#said) if (said.peer === id && said.by === by) this.#said.delete(key)
  }
}
