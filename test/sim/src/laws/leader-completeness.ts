// Rule: leader completeness. What was committed in earlier terms is in the log of every later leader.
//
// Only earlier terms count: a candidate of term 7 may win late, after an entry was committed in term 9,
// without that entry.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'leader-completeness'

export const leaderCompleteness: MakeLaw = (cluster) => ({
  name,
  role(member, role, term) {
    if (role !== 'leader') return
    const index = cluster.committedBefore(term)
    const entry = cluster.committed[index]
    // By log matching the last one stands for all before it.
    if (entry === undefined || cluster.holds(member.live, index, entry.term)) return
    throw new LawBroken(
      name,
      `${member.id} leads term ${term} without entry ${index} of term ${entry.term}, committed before; it has term ${member.live.termAt(index)} there`,
    )
  },
})
