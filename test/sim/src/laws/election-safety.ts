// Rule: election safety. At most one member leads in a term.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'election-safety'

export const electionSafety: MakeLaw = () => {
  const leaders = new Map<number, string>()
  return {
    name,
    role(member, role, term) {
      if (role !== 'leader') return
      const other = leaders.get(term)
      if (other !== undefined && other !== member.id) {
        throw new LawBroken(name, `${other} and ${member.id} both lead in term ${term}`)
      }
      leaders.set(term, member.id)
    },
  }
}
