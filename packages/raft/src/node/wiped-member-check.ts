// Rule: decides when a member with a new directory may take part. The directory may be that of a new cluster,
// or of a member that has lost its disk. A member that lost its disk must neither vote nor acknowledge,
// because the votes and acknowledgements that it gave under this name are lost with its disk.
//
// Laws (M13)
//   - a majority of the OTHER members must have answered. One of them then knows every entry that this member
//     helped to commit, and above all the entry with its incarnation
//   - if a member that knows this one by another incarnation refuses it, the decision is final
//   - if all members that answered are as new as this one, the cluster is new, and this member votes
//   - if some members belong to a cluster and none refuses this member, that cluster has never met this
//     member: the member was listed, and starts late. This member takes part, and votes once the cluster has
//     recorded its incarnation

export type FirstBoot = 'wait' | 'vote' | 'follow' | 'refuse'

/**
 * The answer of another member: its cluster ('' if that member is as new as this one), and whether that
 * member has refused this member.
 */
export interface Answer {
  readonly clusterId: string
  readonly refused: boolean
}

export function mayVote(
  self: string,
  voters: readonly string[],
  answers: ReadonlyMap<string, Answer>,
): FirstBoot {
  const others = voters.filter((id) => id !== self)
  const answered = others.map((id) => answers.get(id)).filter((answer) => answer !== undefined)
  if (answered.some(({ refused }) => refused)) return 'refuse'
  if (others.length > 0 && answered.length < Math.floor(others.length / 2) + 1) return 'wait'
  return answered.some(({ clusterId }) => clusterId !== '') ? 'follow' : 'vote'
}
