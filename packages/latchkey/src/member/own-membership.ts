// Driver: knows whether this member still belongs to its cluster.
//
// Laws (M12, R8):
//   - A member counts as removed only if committed entries have made it a member before. A joining member is
//     not in the list of members until it has caught up.
//   - The removal of this member is reported one election timeout after the removal was applied. In this
//     time, requests that were sent before the removal can still be answered, above all the request to remove
//     this member (M11).
//   - A member that is added again counts as a member again, without a restart.
//   - A member that learned of its removal only from other members (leaderless-time.ts) counts as a member
//     again when it has a leader.

import type { Clock, Timer } from '@latchkey/base'
import { type MemberId, type Membership, membersOf } from '@latchkey/raft'

export const removed = (id: string): string =>
  `${id} was removed from its cluster. To have it back, start it over an empty directory with join: true and add it.`

interface OwnMembershipPorts {
  readonly id: MemberId
  readonly clock: Clock
  /** In ms. The time from the removal to its report. */
  readonly grace: number
  /** False means that this member belongs to the cluster again. */
  tell(removed: boolean): void
}

export class OwnMembership {
  readonly #ports: OwnMembershipPorts
  #belonged = false
  #isReported = false
  #isOnlyReported = false
  #timer: Timer | undefined

  constructor(ports: OwnMembershipPorts) {
    this.#ports = ports
  }

  /** True if the removal was reported. */
  get isOver(): boolean {
    return this.#isReported
  }

  /** Called after each applied change of the membership. */
  look(membership: Membership): void {
    const members = membersOf(membership)
    if (members.includes(this.#ports.id)) this.#belongs()
    else if (this.#belonged && members.length > 0) this.#leaves()
  }

  /**
   * Called when other members say that this member was removed, although the log of this member does not
   * contain the removal.
   */
  reportedByOthers(): void {
    if (this.#isReported) return
    this.#isOnlyReported = true
    this.#tell(true)
  }

  /**
   * Called when this member has a leader. If only other members have reported its removal, that report was
   * wrong.
   */
  led(): void {
    if (this.#isOnlyReported) this.#tell(false)
  }

  #belongs(): void {
    this.#belonged = true
    this.close()
    if (this.#isReported) this.#tell(false)
  }

  #leaves(): void {
    if (this.#isReported) return
    const { clock, grace } = this.#ports
    this.#timer ??= clock.after(grace, () => this.#tell(true), { ref: false })
  }

  #tell(removed: boolean): void {
    this.#timer = undefined
    this.#isReported = removed
    if (!removed) this.#isOnlyReported = false
    this.#ports.tell(removed)
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
