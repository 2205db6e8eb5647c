// Rule: the last entry that a leader commits is of its own term and is on the disks of a quorum at that
// moment. The quorum follows from the configuration in the leader's log. A leader that commits a joint
// configuration leaves it in the same step, so the law checks at the end of the step.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'
import { isQuorum } from './observed-cluster.js'
import { membershipText } from './membership-as-text.js'

const name = 'durable-quorum'

export const durableQuorum: MakeLaw = (cluster) => {
  const judged = new Map<string, number>()
  return {
    name,
    booted: (member) => void judged.delete(member.id),
    settled(member) {
      const { commit } = member
      if (commit <= (judged.get(member.id) ?? 0)) return
      judged.set(member.id, commit)
      if (member.role !== 'leader') return
      const term = member.live.termAt(commit)
      if (term === undefined) return
      if (term !== member.term) {
        throw new LawBroken(
          name,
          `${member.id} of term ${member.term} commits up to ${commit}, of term ${term}`,
        )
      }
      const { membership } = member.live
      const has = (id: string) => cluster.keeps(cluster.member(id), commit, term)
      if (isQuorum(membership, has)) return
      const durable = [...cluster.members.keys()].filter(has)
      throw new LawBroken(
        name,
        `${member.id} commits ${commit} of term ${term} in ${membershipText(membership)}; only [${durable}] have it on disk`,
      )
    },
  }
}
