// Driver: knows whether this member is still in its cluster's membership.
//
// Laws (M12, R8):
//   - a member counts as removed only if committed entries have made it a member before, because a joining
//     member is not in the list of members until it has caught up;
//   - requests that were under way at the removal may still be answered, above all the removal itself (M11).
//     So the removal is reported an election timeout later;
//   - a member that is added again is a member again, also in the same process;
//   - a member that heard of its removal only from others (leaderless-time.ts) is a member again as soon as
//     it has a leader.

import type { Clock, Timer } from '@latchkey/base'
import { type MemberId, type Membership, membersOf } from '@latchkey/raft'

/** The message for the operator of the removed member. */
export const removed = (id: string): string =>
  `${id} was removed from its cluster. To have it back, start it over an empty directory with join: true and add it.`

interface OwnMembershipPorts {
  readonly id: MemberId
  readonly clock: Clock
  /** In ms, the time from the removal to the report of the removal. */
  readonly grace: number
  /**
   * True: this member was removed, and requests to it will not be answered any more. False: it is a member
   * again.
   */
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

  /** True if the member was removed and the removal was reported. */
  get isOver(): boolean {
    return this.#told
  }

  /** Takes the membership of the last change that this member has committed and applied. */
  look(membership: Membership): void {
    const members = membersOf(membership)
    if (members.includes(this.#ports.id)) this.#belongs()
    else if (this.#belonged && members.length > 0) this.#leaves()
  }

  /**
   * Called when other members report the removal. This member's own log does not contain the removal, or
   * contained it before this start.
   */
  heard(): void {
    if (this.#told) return
    this.#hearsay = true
    this.#tell(true)
  }

  /** A leader is known here. */
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
