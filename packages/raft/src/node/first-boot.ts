// Rule: when a fresh directory may vote. It may be a new cluster's, or that of a member whose disk was wiped; the second must not
// vote, because what it promised under this name is gone with the disk. Every entry that it once helped to commit is known to a
// majority that includes one of the others; so it waits until a majority of the OTHERS has answered: one of them would know.

export type FirstBoot = 'wait' | 'vote' | 'refuse'

/** What another member said of itself in its handshake: the cluster it belongs to, '' when it is as new as we are. */
export type Answers = ReadonlyMap<string, { readonly clusterId: string }>

export function mayVote(self: string, voters: readonly string[], answers: Answers): FirstBoot {
  const others = voters.filter((id) => id !== self)
  const answered = others.filter((id) => answers.has(id))
  if (answered.some((id) => answers.get(id)?.clusterId !== '')) return 'refuse'
  const majority = Math.floor(others.length / 2) + 1
  return others.length === 0 || answered.length >= majority ? 'vote' : 'wait'
}
