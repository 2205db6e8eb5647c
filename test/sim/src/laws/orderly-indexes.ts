// Rule: between two starts of a member, its term, commit index and applied index never decrease, and snapshot
// <= applied <= commit <= last.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'orderly-indexes'

export const orderlyIndexes: MakeLaw = () => ({
  name,
  role(member, role, term) {
    if (term < member.term)
      throw new LawBroken(name, `${member.id} goes back from term ${member.term} to ${term}`)
    if (member.role === 'leader' && role !== 'leader' && term === member.term) {
      // A leader may step down in its term (check-quorum).
      return
    }
    if (role === 'leader' && term === member.term && member.role === 'leader') {
      throw new LawBroken(name, `${member.id} becomes leader of term ${term} twice`)
    }
  },
  committed(member, from, to) {
    if (from !== member.handed + 1) {
      throw new LawBroken(name, `${member.id} hands out ${from} after ${member.handed}`)
    }
    if (to > member.live.lastIndex) {
      throw new LawBroken(name, `${member.id} commits ${to}, its log ends at ${member.live.lastIndex}`)
    }
  },
  persisting(member, batch) {
    if (batch.truncateFrom !== undefined && batch.truncateFrom <= member.commit) {
      throw new LawBroken(
        name,
        `${member.id} cuts its log from ${batch.truncateFrom}, committed ${member.commit}`,
      )
    }
    const restart = batch.restartAfter?.position.index
    if (restart !== undefined && restart < member.commit) {
      throw new LawBroken(name, `${member.id} restarts its log at ${restart}, committed ${member.commit}`)
    }
  },
})
