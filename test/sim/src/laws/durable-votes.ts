// Rule: a leader has the durable votes of a quorum of the configuration in its own log.

import { isQuorum } from './observed-cluster.js'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'durable-votes'

export const durableVotes: MakeLaw = () => {
  /** The members whose vote for a candidate was durable, by term and candidate. */
  const votes = new Map<string, Set<string>>()
  const note = (voter: string, term: number, vote: string | undefined) => {
    if (vote === undefined) return
    const key = `${term}/${vote}`
    votes.set(key, (votes.get(key) ?? new Set()).add(voter))
  }
  return {
    name,
    booted: (member, found) => note(member.id, found.term, found.vote),
    durable(member, batch) {
      if (batch.hardState !== undefined) note(member.id, batch.hardState.term, batch.hardState.vote)
    },
    role(member, role, term) {
      if (role !== 'leader') return
      const granted = votes.get(`${term}/${member.id}`) ?? new Set<string>()
      if (isQuorum(member.live.membership, (id) => granted.has(id))) return
      const { voters, outgoing } = member.live.membership
      const halves = outgoing.length > 0 ? `${voters} and ${outgoing}` : `${voters}`
      throw new LawBroken(
        name,
        `${member.id} leads term ${term} with durable votes of [${[...granted].sort()}] among ${halves}`,
      )
    },
  }
}
