// Rule: leader completeness. Every entry that was committed in an earlier term is in the log of each later
// leader.
//
// A candidate of term 7 may win after an entry was committed in term 9. Its log need not contain this entry.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'leader-completeness'

export const leaderCompleteness: MakeLaw = (cluster) => ({
  name,
  role(member, role, term) {
    if (role !== 'leader') return
    const index = cluster.committedBefore(term)
    const entry = cluster.committed[index]
    // By log matching, a log with the last entry has all entries before it.
    if (entry === undefined || cluster.holds(member.live, index, entry.term)) return
    throw new LawBroken(
      name,
      `${member.id} leads term ${term} without entry ${index} of term ${entry.term}, committed before; it has term ${member.live.termAt(index)} there`,
    )
  },
})
