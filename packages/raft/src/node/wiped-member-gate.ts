// Driver: keeps a member with a new directory from voting until it is known that the member has not lost its
// disk (wiped-member-check.ts decides).

import type { MemberId, Membership } from '../core/types.js'
import { type Answer, mayVote } from './wiped-member-check.js'

interface FirstBootPorts {
  readonly id: MemberId
  readonly incarnation: string
  voters(): readonly MemberId[]
  allowVoting(): void
  /**
   * Called if this directory is new and the cluster knows this member by another incarnation. The member has
   * then lost its disk.
   */
  refused(): void
}

type State = 'waiting' | 'following' | 'open' | 'refused'

export class FirstBootGate {
  readonly #ports: FirstBootPorts
  readonly #answers = new Map<MemberId, Answer>()
  #state: State

  /** `fresh` means that the cluster has several members and no promise was ever made from this directory. */
  constructor(ports: FirstBootPorts, fresh: boolean) {
    this.#ports = ports
    this.#state = fresh ? 'waiting' : 'open'
  }

  /** The members of a new cluster that this one has not met yet. Undefined if this member waits for none. */
  get waitsFor(): readonly MemberId[] | undefined {
    if (this.#state !== 'waiting') return undefined
    const voters = this.#ports.voters()
    return voters.filter((id) => id !== this.#ports.id && !this.#answers.has(id))
  }

  /**
   * True if this member receives messages. Before the decision it must acknowledge nothing, so it receives
   * none.
   */
  get hears(): boolean {
    return this.#state === 'open' || this.#state === 'following'
  }

  /** Called when that member has admitted this one. `clusterId` comes from that member's handshake. */
  met(id: MemberId, clusterId: string): void {
    this.#answered(id, { clusterId, refused: false })
  }

  /** Called when that member has refused this one. `clusterId` comes from that member's handshake. */
  refusedBy(id: MemberId, clusterId: string): void {
    if (clusterId !== '') this.#answered(id, { clusterId, refused: true })
  }

  #answered(id: MemberId, answer: Answer): void {
    if (this.#state !== 'waiting') return
    this.#answers.set(id, answer)
    switch (mayVote(this.#ports.id, this.#ports.voters(), this.#answers)) {
      case 'wait':
        return
      case 'vote':
        return this.#open()
      case 'follow':
        this.#state = 'following'
        return
      case 'refuse':
        this.#state = 'refused'
        return this.#ports.refused()
    }
  }

  #open(): void {
    this.#state = 'open'
    this.#ports.allowVoting()
  }

  committed({ peers }: Membership): void {
    const { id, incarnation } = this.#ports
    if (this.#state === 'following' && peers[id]?.incarnation === incarnation) this.#open()
  }
}
