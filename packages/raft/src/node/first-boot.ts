// Rule: when a member with a fresh directory may take part. The directory may be that of a new cluster, or of
// a member whose disk was wiped. A wiped member must neither vote nor acknowledge, because the promises that
// it made under this name are lost with its disk.
//
// Laws (M13)
//   - a majority of the OTHER members must have answered: one of them then knows every entry that this name
//     helped to commit, and above all the entry with its incarnation
//   - when a member that knows this name by another incarnation refuses it, the decision is final
//   - when all that answered are as new as this one, the cluster is new: this member votes
//   - when some belong to a cluster and none refuses, that cluster has never met this name: the member was
//     listed, and starts late. It takes part, and votes once the cluster has recorded its incarnation

export type FirstBoot = 'wait' | 'vote' | 'follow' | 'refuse'

/**
 * The answer of another member: its cluster, '' when that member is as new as this one; and whether it
 * refused this one.
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
