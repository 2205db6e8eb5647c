// Driver: proposes the membership changes that a leader makes by itself. These changes record the cluster's
// random id, the incarnation (the random id of the data directory) of each new member, and new addresses. A
// change that must wait is tried again after the next event.

import type { MemberId, Membership, MembershipChange } from '../core/types.js'
import type { RaftNode } from './node.js'

interface AutomaticMembershipChangesPorts {
  readonly node: RaftNode
  /** Draws the id of a new cluster. Returns undefined if this member must not found a cluster. */
  newClusterId(): string | undefined
  /**
   * Returns the incarnation (the random id of the data directory) of the process that is connected as member
   * `id` now, or undefined. The incarnation of an earlier connection must not be recorded: a removed member
   * that comes back with a new directory would then be refused.
   */
  readonly incarnation: (id: MemberId) => string | undefined
  /** The address of this member for other members. Empty if this member opens no port. */
  readonly url: string
  /**
   * The new addresses of members that were found at another address than the membership says
   * (member-addresses.ts).
   */
  readonly moved: (membership: Membership) => Readonly<Record<MemberId, string>>
}

export class AutomaticMembershipChanges {
  readonly #ports: AutomaticMembershipChangesPorts
  #unfinished = false

  constructor(ports: AutomaticMembershipChangesPorts) {
    this.#ports = ports
  }

  /**
   * True if a change must wait, because another change is not committed, or because no entry of the leader's
   * term is committed.
   */
  get unfinished(): boolean {
    return this.#unfinished
  }

  /**
   * Proposes the next change, if one is needed. The owner calls `look` after a change of leader or
   * membership, and after a new connection. While `unfinished` is true, the owner also calls `look` after
   * each applied entry.
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
