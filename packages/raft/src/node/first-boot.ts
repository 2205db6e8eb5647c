// Rule: when a fresh directory may take part. It may be a new cluster's, or that of a member whose disk was wiped; the second must
// neither vote nor acknowledge, because what it promised under this name is gone with the disk.
//
// Laws (M13)
//   - a majority of the OTHERS has to have answered: whatever this name once helped to commit, and the record of its incarnation
//     before all, is known to one of them
//   - one that knows this name by another incarnation refuses it, and that is the end of it
//   - where all that answered are as new as this one, it is a new cluster: it votes
//   - where some know a cluster and none refuses, that cluster has never met this name: it was listed, and is started late.
//     It takes part, and votes once the cluster has written its incarnation down

export type FirstBoot = 'wait' | 'vote' | 'follow' | 'refuse'

/** What another member said of itself: the cluster it belongs to, '' when it is as new as we are; and whether it refused us. */
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
