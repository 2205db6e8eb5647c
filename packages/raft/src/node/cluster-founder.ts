// Driver: a leader's book-keeping of who the members are: it founds the cluster (draws its id), and writes down each member's
// incarnation when it is first met. One change at a time, so what cannot go now is looked at again after the next event.

import type { MemberId, Membership, MembershipChange } from '../core/types.js'
import type { RaftNode } from './node.js'

export interface ClusterFounderPorts {
  readonly node: RaftNode
  /** Undefined: this member may not found a cluster. */
  newClusterId(): string | undefined
  /**
   * Of the process that is connected under that name now; undefined when none is. Never of one met before: a member that was
   * removed and comes back with a new directory would be refused for what it was.
   */
  readonly incarnation: (id: MemberId) => string | undefined
  /** Where this member wants to be reached; '' when it listens nowhere. */
  readonly url: string
  /** Members that were found elsewhere than that membership says (addresses.ts). */
  readonly moved: (membership: Membership) => Readonly<Record<MemberId, string>>
}

export class ClusterFounder {
  readonly #ports: ClusterFounderPorts
  #unfinished = false

  constructor(ports: ClusterFounderPorts) {
    this.#ports = ports
  }

  /** Something could not be written yet: another change was pending, or the leader too new. */
  get unfinished(): boolean {
    return this.#unfinished
  }

  /** After anything that may have changed what there is to write: leadership, members, a member met; while unfinished, any entry. */
  look(): void {
    this.#unfinished = false
    if (this.#ports.node.role === 'leader') this.#write(this.#ports.node.raft.membership)
  }

  #propose(change: MembershipChange): boolean {
    const { ok } = this.#ports.node.proposeChange(change)
    if (!ok) this.#unfinished = true
    return ok
  }

  #write(membership: Membership): void {
    const { node } = this.#ports
    if (membership.cluster === undefined) {
      const cluster = this.#ports.newClusterId()
      const incarnations = this.#unwritten(membership)
      if (cluster !== undefined) this.#propose({ type: 'found', cluster, incarnations })
      return
    }
    const own = membership.peers[node.options.id]
    if (own !== undefined && own.url === '' && this.#ports.url !== '') {
      this.#propose({ type: 'update', id: node.options.id, peer: { ...own, url: this.#ports.url } })
      return
    }
    for (const [id, url] of Object.entries(this.#ports.moved(membership))) {
      const incarnation = membership.peers[id]?.incarnation ?? ''
      if (this.#propose({ type: 'update', id, peer: { url, incarnation } })) return
    }
    for (const [id, incarnation] of Object.entries(this.#unwritten(membership))) {
      const url = membership.peers[id]?.url ?? ''
      if (this.#propose({ type: 'update', id, peer: { url, incarnation } })) return
    }
  }

  #unwritten({ peers }: Membership): Record<MemberId, string> {
    const unwritten = Object.keys(peers).filter((id) => peers[id]?.incarnation === '')
    const known = unwritten.map((id) => [id, this.#ports.incarnation(id) ?? ''] as const)
    return Object.fromEntries(known.filter(([, incarnation]) => incarnation !== ''))
  }
}
