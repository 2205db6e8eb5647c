// Driver: a leader's book-keeping of who the members are: it founds the cluster (draws its id), and writes down each member's
// incarnation when it is first met. One change at a time, so what cannot go now is looked at again after the next event.

import type { MemberId, Membership } from '../core/types.js'
import type { RaftNode } from './node.js'

export interface RegistrarPorts {
  readonly node: RaftNode
  newClusterId(): string
  /** Of members that have been met, this one included. */
  incarnations(): ReadonlyMap<MemberId, string>
  /** Where this member wants to be reached; '' when it listens nowhere. */
  readonly url: string
}

export class Registrar {
  readonly #ports: RegistrarPorts

  constructor(ports: RegistrarPorts) {
    this.#ports = ports
  }

  /** After anything that may have changed what there is to write: leadership, members, a member met. */
  look(): void {
    const { node } = this.#ports
    if (node.role !== 'leader') return
    const { membership } = node.raft
    if (membership.cluster === undefined) {
      node.proposeChange({
        type: 'found',
        cluster: this.#ports.newClusterId(),
        incarnations: this.#unwritten(membership),
      })
      return
    }
    const own = membership.peers[node.options.id]
    if (own !== undefined && own.url === '' && this.#ports.url !== '') {
      node.proposeChange({ type: 'update', id: node.options.id, peer: { ...own, url: this.#ports.url } })
      return
    }
    for (const [id, incarnation] of Object.entries(this.#unwritten(membership))) {
      const url = membership.peers[id]?.url ?? ''
      if (node.proposeChange({ type: 'update', id, peer: { url, incarnation } }).ok) return
    }
  }

  #unwritten({ peers }: Membership): Record<MemberId, string> {
    const met = [...this.#ports.incarnations()].filter(([id]) => peers[id]?.incarnation === '')
    return Object.fromEntries(met)
  }
}
