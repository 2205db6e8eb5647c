// Rule: the last entry that a leader commits is of the leader's term and on the disks of a quorum. The
// configuration in the leader's log decides about the quorum. The check is at the end of a step, because the
// leader leaves a joint configuration in the step that commits it.

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
