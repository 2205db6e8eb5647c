// Rule: what a node counts since its start, for metrics. No decision depends on these numbers.

import { Histogram } from '@latchkey/base'
import type { ElectionReason, MemberId, Role } from '../core/index.js'

export class NodeCounters {
  /** How often this member has heard of another leader, or of the same leader in another term. */
  leaderChanges = 0
  /** By their reason, one for each try. */
  readonly electionsStarted: Record<ElectionReason, number> = {
    timeout: 0,
    leader_ended: 0,
    transfer: 0,
    new_cluster: 0,
  }
  electionsWon = 0
  /** The number of committed commands that callers gave to this member while it led. */
  committed = 0
  refused = 0
  unknown = 0
  snapshotsSent = 0
  snapshotsReceived = 0
  /** How many seconds each write to the log took, with its sync. */
  readonly logSync = new Histogram()
  /** How many seconds passed from the proposal of each entry until this member applied it. */
  readonly commit = new Histogram()
  /** By how many seconds each tick came too late, because the event loop or the whole process stood still. */
  readonly tickDelay = new Histogram()
  /** The last term whose leader is known. */
  #ledTerm = 0

  /** Called when the node has another role, or when it knows another leader. */
  role(role: Role, term: number, leader: MemberId | undefined, why: ElectionReason | undefined): void {
    if (role === 'candidate' && why !== undefined) this.electionsStarted[why]++
    if (leader === undefined || this.#ledTerm === term) return
    if (role === 'leader') this.electionsWon++
    this.#ledTerm = term
    this.leaderChanges++
  }
}
