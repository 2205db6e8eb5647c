// Rule: counters of a node since its start, for metrics. No decision depends on them.

import { Histogram } from '@latchkey/base'
import type { ElectionReason, MemberId, Role } from '../core/index.js'

export class NodeCounters {
  /** Counts new leaders, and new terms of the same leader. */
  leaderChanges = 0
  /** The elections that this member has started, by reason. Each new attempt counts. */
  readonly electionsStarted: Record<ElectionReason, number> = {
    timeout: 0,
    leader_ended: 0,
    transfer: 0,
    new_cluster: 0,
  }
  electionsWon = 0
  /** Commands of this member's callers that were committed while this member led. */
  committed = 0
  refused = 0
  unknown = 0
  snapshotsSent = 0
  snapshotsReceived = 0
  /** In seconds, how long each write to the log took, including its sync. */
  readonly logSync = new Histogram()
  /** In seconds, how long each entry took from its proposal until this member applied it. */
  readonly commit = new Histogram()
  /**
   * In seconds, how late each tick came. A late tick means that the event loop or the process was blocked.
   */
  readonly tickDelay = new Histogram()
  /** The last term of which this member has known the leader. */
  #ledTerm = 0

  role(role: Role, term: number, leader: MemberId | undefined, why: ElectionReason | undefined): void {
    if (role === 'candidate' && why !== undefined) this.electionsStarted[why]++
    if (leader === undefined || this.#ledTerm === term) return
    if (role === 'leader') this.electionsWon++
    this.#ledTerm = term
    this.leaderChanges++
  }
}
