// Driver: the changes that a leader itself makes to the membership: it draws the cluster's id, records each
// member's incarnation when it first meets the member, and records new addresses. One change is made at a
// time. A change that cannot be made now is tried again after the next event.

import type { MemberId, Membership, MembershipChange } from '../core/types.js'
import type { RaftNode } from './node.js'

interface ClusterFounderPorts {
  readonly node: RaftNode
  /** Returns undefined if this member may not create a cluster. */
  newClusterId(): string | undefined
  /**
   * Returns the incarnation of the process that is connected under that id now, or undefined if none is. A
   * process that was connected earlier does not count. Otherwise the old incarnation would be recorded for a
   * member that was removed and comes back with a new directory, and the member would be refused.
   */
  readonly incarnation: (id: MemberId) => string | undefined
  /** The address at which other members reach this one. It is '' if this member listens on no port. */
  readonly url: string
  /** Returns the members that were found at another address than the membership has (member-addresses.ts). */
  readonly moved: (membership: Membership) => Readonly<Record<MemberId, string>>
}

export class ClusterFounder {
  readonly #ports: ClusterFounderPorts
  #unfinished = false

  constructor(ports: ClusterFounderPorts) {
    this.#ports = ports
  }

  /**
   * True if a change could not be proposed yet, because another change is pending or the leader has not
   * committed an entry of its term.
   */
  get unfinished(): boolean {
    return this.#unfinished
  }

  /**
   * Proposes a change if one is needed. The owner must call `look` when there is a new leader, when the
   * members change, and when a member connects. While `unfinished` is true, the owner must also call `look`
   * after every applied entry.
   */
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
