// Driver: keeps a fresh member from voting until it is known not to be a wiped one (first-boot.ts decides).

import type { MemberId, Membership } from '../core/types.js'
import { type Answer, mayVote } from './first-boot.js'

interface FirstBootPorts {
  readonly id: MemberId
  readonly incarnation: string
  voters(): readonly MemberId[]
  allowVoting(): void
  /** This directory is new, and the cluster knows this member by another incarnation. */
  refused(): void
}

type State = 'waiting' | 'following' | 'open' | 'refused'

export class FirstBootGate {
  readonly #ports: FirstBootPorts
  readonly #answers = new Map<MemberId, Answer>()
  #state: State

  /** `fresh`: the member is one of several, and nothing was ever promised from its directory. */
  constructor(ports: FirstBootPorts, fresh: boolean) {
    this.#ports = ports
    this.#state = fresh ? 'waiting' : 'open'
  }

  /** The members of a new cluster that this one has not met yet; undefined: it waits for nobody. */
  get waitsFor(): readonly MemberId[] | undefined {
    if (this.#state !== 'waiting') return undefined
    const voters = this.#ports.voters()
    return voters.filter((id) => id !== this.#ports.id && !this.#answers.has(id))
  }

  /** Until the decision this member must acknowledge nothing, so it receives no messages either. */
  get hears(): boolean {
    return this.#state === 'open' || this.#state === 'following'
  }

  /** That member has admitted this one; `clusterId` is from its handshake. */
  met(id: MemberId, clusterId: string): void {
    this.#answered(id, { clusterId, refused: false })
  }

  /** That member has refused this one; `clusterId` is from its handshake. */
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
