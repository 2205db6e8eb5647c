// Driver: owns the knowledge whether this member still belongs to its cluster.
//
// Laws (M12, R8)
//   - removed is only who was a member before, by what is committed: one that joins is not in the list either until it has caught up
//   - what was under way when it was removed may still be answered, its own removal above all (M11): it is told an election timeout later
//   - who is added again belongs again, in the same life too
//   - who only heard of it from others (leaderless-time.ts) belongs again as soon as it has a leader

import type { Clock, Timer } from '@latchkey/base'
import { type MemberId, type Membership, membersOf } from '@latchkey/raft'

/** For whoever runs that member. */
export const removed = (id: string): string =>
  `${id} was removed from its cluster. To have it back, start it over an empty directory with join: true and add it.`

export interface OwnMembershipPorts {
  readonly id: MemberId
  readonly clock: Clock
  /** ms between the removal and the word of it. */
  readonly grace: number
  /** True: it was removed, and what is asked here will not be answered any more. False: it is back. */
  tell(removed: boolean): void
}

export class OwnMembership {
  readonly #ports: OwnMembershipPorts
  #belonged = false
  #told = false
  #hearsay = false
  #timer: Timer | undefined

  constructor(ports: OwnMembershipPorts) {
    this.#ports = ports
  }

  /** It was removed, and that was told. */
  get isOver(): boolean {
    return this.#told
  }

  /** The members by the last change that is committed and applied here. */
  look(membership: Membership): void {
    const members = membersOf(membership)
    if (members.includes(this.#ports.id)) this.#belongs()
    else if (this.#belonged && members.length > 0) this.#leaves()
  }

  /** Said by others: its own log does not have it, or has had it before this life. */
  heard(): void {
    if (this.#told) return
    this.#hearsay = true
    this.#tell(true)
  }

  /** Somebody leads here. */
  led(): void {
    if (this.#hearsay) this.#tell(false)
  }

  #belongs(): void {
    this.#belonged = true
    this.close()
    if (this.#told) this.#tell(false)
  }

  #leaves(): void {
    if (this.#told) return
    const { clock, grace } = this.#ports
    this.#timer ??= clock.after(grace, () => this.#tell(true), { ref: false })
  }

  #tell(removed: boolean): void {
    this.#timer = undefined
    this.#told = removed
    if (!removed) this.#hearsay = false
    this.#ports.tell(removed)
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
