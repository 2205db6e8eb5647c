// Rule: the state of a running member that laws, faults and scenarios may see.

import type { MemberId, Membership } from '@latchkey/raft/core'
import type { Replica } from '@latchkey/raft/node'

export interface MemberView {
  readonly term: number
  readonly role: string
  readonly leader: MemberId | undefined
  readonly commit: number
  readonly applied: number
  readonly lastIndex: number
  readonly clusterTime: number
  readonly membership: Membership
  readonly stateHash: number
  /**
   * A received snapshot, a transfer, a write or an apply that is not finished. Undefined if the member has
   * finished everything.
   */
  readonly pending: string | undefined
  /** The members to which this leader must send a snapshot. A dead member stays in this list. */
  readonly snapshotReceivers: readonly MemberId[]
}

/** The view of a process that is still reading its disk. */
export const ASLEEP: MemberView = {
  term: 0,
  role: 'starting',
  leader: undefined,
  commit: 0,
  applied: 0,
  lastIndex: 0,
  clusterTime: 0,
  membership: { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} },
  stateHash: 0,
  pending: 'its start',
  snapshotReceivers: [],
}

export function viewOf(replica: Replica, stateHash: number, now: number): MemberView {
  const { raft, applied } = replica.node
  const { term, role, leader, commit, lastIndex, membership } = raft
  return {
    term,
    role,
    leader,
    commit,
    applied: applied.position.index,
    lastIndex,
    // Computed only on request, because each reading advances the leader's clock. A paused process would not
    // make the reading.
    get clusterTime() {
      return raft.clusterTime(now)
    },
    membership,
    stateHash,
    pending: pendingOf(replica),
    snapshotReceivers: raft.progress.filter(({ snapshot }) => snapshot !== undefined).map(({ id }) => id),
  }
}

function pendingOf({ node }: Replica): string | undefined {
  const { raft } = node
  if (raft.state.disk.durable !== raft.lastIndex) return 'a write'
  if (node.pending > 0) return `${node.pending} proposals`
  if (node.applied.position.index !== raft.commit) return `entries to apply up to ${raft.commit}`
  if (raft.transferring) return 'a transfer'
  if (node.rebuilding) return 'the state of another member'
  const { staging } = raft.state
  const isReceiving = staging !== undefined && staging.position.index > raft.commit
  return isReceiving ? 'a snapshot half received' : undefined
}
