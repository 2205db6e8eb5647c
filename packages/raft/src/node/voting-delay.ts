// Driver: keeps a member with a new directory from voting until it is clear that the member has not lost its
// disk (wiped-member-check.ts).

import type { MemberId, Membership } from '../core/types.js'
import { type Answer, mayVote } from './wiped-member-check.js'

interface VotingDelayPorts {
  readonly id: MemberId
  readonly incarnation: string
  voters(): readonly MemberId[]
  allowVoting(): void
  /**
   * Called if the cluster knows this member with another data directory (incarnation). So this member has
   * lost its disk.
   */
  refused(): void
}

type State = 'waiting' | 'following' | 'open' | 'refused'

export class VotingDelay {
  readonly #ports: VotingDelayPorts
  readonly #answers = new Map<MemberId, Answer>()
  #state: State

  /** `fresh` is true if this member's data directory is new and the cluster has several members. */
  constructor(ports: VotingDelayPorts, fresh: boolean) {
    this.#ports = ports
    this.#state = fresh ? 'waiting' : 'open'
  }

  /** Undefined if this member does not wait. */
  get waitsFor(): readonly MemberId[] | undefined {
    if (this.#state !== 'waiting') return undefined
    const voters = this.#ports.voters()
    return voters.filter((id) => id !== this.#ports.id && !this.#answers.has(id))
  }

  /** A member that waits handles no Raft messages, because it must not acknowledge anything. */
  get acceptsMessages(): boolean {
    return this.#state === 'open' || this.#state === 'following'
  }

  /**
   * Called when the member `id` has accepted this member's connection. `clusterId` is the cluster id that
   * member `id` sent in its handshake.
   */
  met(id: MemberId, clusterId: string): void {
    this.#answered(id, { clusterId, refused: false })
  }

  /**
   * Called when the member `id` has refused this member with ERR_WRONG_CLUSTER. `clusterId` is the cluster id
   * that member `id` sent in its handshake.
   */
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
