// Rule: decides when a member with a new directory may vote.
// The directory may belong to a new cluster, or to a member that has lost its disk. A member that has lost
// its disk does not know its earlier votes. If it voted twice in one term, that term could get two leaders.
//
// Laws (M13)
//   - a majority of the OTHER members must have answered. An entry that this member helped to commit is on a
//     majority of all members, so at least one member that answered has this entry. Its log also has the
//     entry that names this member's earlier incarnation (the random id of the data directory).
//   - if another member refuses this member because of an earlier incarnation, the refusal is final.
//   - if all members that answered have no cluster yet, the cluster is new, and this member votes.
//   - if some members belong to a cluster and none refuses this member, this member starts late in a cluster
//     that has never connected to it. This member receives the log, and votes once the cluster has recorded
//     its incarnation.

type VotingDecision = 'wait' | 'vote' | 'follow' | 'refuse'

/**
 * `clusterId` is '' if the other member has no cluster yet. `refused` is true if the other member refused
 * this member.
 */
export interface Answer {
  readonly clusterId: string
  readonly refused: boolean
}

export function mayVote(
  self: string,
  voters: readonly string[],
  answers: ReadonlyMap<string, Answer>,
): VotingDecision {
  const others = voters.filter((id) => id !== self)
  const answered = others.map((id) => answers.get(id)).filter((answer) => answer !== undefined)
  if (answered.some(({ refused }) => refused)) return 'refuse'
  if (others.length > 0 && answered.length < Math.floor(others.length / 2) + 1) return 'wait'
  return answered.some(({ clusterId }) => clusterId !== '') ? 'follow' : 'vote'
}
