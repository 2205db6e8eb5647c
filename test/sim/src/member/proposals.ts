// Driver: the callers' commands on their way into the log and their answers on the way back.
//
// Law (L16): a caller is answered from the entry it was proposed in, index and term; anything else leaves its
// outcome unknown.

import type { Effect, Entry } from '@latchkey/raft/core'
import type { MemberParts } from './parts.js'
import type { Request } from './port.js'
import { encodeCommands, type Result } from './registers.js'

interface Waiting {
  readonly term: number
  readonly requests: readonly Request[]
}

export class Proposals {
  readonly #member: MemberParts
  #gathered: Request[] = []
  readonly #waiting = new Map<number, Waiting>()

  constructor(member: MemberParts) {
    this.#member = member
  }

  /** What is not answered yet; undefined: nothing. */
  get pending(): string | undefined {
    if (this.#gathered.length > 0) return `${this.#gathered.length} gathered commands`
    for (const [index, { term }] of this.#waiting) return `the proposal of entry ${index} in term ${term}`
    return undefined
  }

  /** Something has gathered and may go. */
  get ready(): boolean {
    return this.#gathered.length > 0 && (!this.#member.options.batching || this.#member.journal.idle)
  }

  add(request: Request): void {
    if (this.#member.raft.role === 'leader') this.#gathered.push(request)
    else this.#refuse(request)
  }

  propose(now: number): readonly Effect[] {
    if (!this.ready) return []
    const requests = this.#gathered.splice(0)
    const proposal = this.#member.raft.propose('commands', encodeCommands(requests), now)
    if (!proposal.ok) {
      for (const request of requests) this.#refuse(request)
      return []
    }
    const older = this.#waiting.get(proposal.index)
    if (older !== undefined) this.#unknown(older)
    this.#waiting.set(proposal.index, { term: proposal.term, requests })
    return proposal.effects
  }

  /**
   * Whoever does not lead any more cannot say what becomes of its entries: another leader may keep or cut
   * them (L16).
   */
  role(role: string): void {
    if (role === 'leader') return
    for (const request of this.#gathered.splice(0)) this.#refuse(request)
    for (const waiting of this.#waiting.values()) this.#unknown(waiting)
    this.#waiting.clear()
  }

  applied(entry: Entry, results: readonly Result[]): void {
    const waiting = this.#waiting.get(entry.index)
    if (waiting === undefined) return
    this.#waiting.delete(entry.index)
    if (waiting.term !== entry.term) return this.#unknown(waiting)
    const { host } = this.#member
    waiting.requests.forEach((request, i) => {
      const result = results[i]
      if (result?.request !== request.id) throw new Error(`entry ${entry.index} answers another request`)
      host.watcher.acknowledged({ index: entry.index, term: entry.term, key: request.key })
      host.answer(request, { type: 'done', value: result.seen, swapped: result.swapped })
    })
  }

  /** A snapshot took the place of what was proposed up to here: it may be in it or not. */
  overtaken(upTo: number): void {
    for (const [index, waiting] of this.#waiting) {
      if (index > upTo) continue
      this.#waiting.delete(index)
      this.#unknown(waiting)
    }
  }

  #refuse(request: Request): void {
    this.#member.host.answer(request, { type: 'refused', leader: this.#member.raft.leader })
  }

  #unknown({ requests }: Waiting): void {
    for (const request of requests) this.#member.host.answer(request, { type: 'unknown' })
  }
}
