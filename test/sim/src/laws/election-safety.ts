// Rule: election safety. At most one member leads in a term. A member that starts again does not lead again
// in the term, because it remembers its vote for itself (E1, E3, E4).

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'election-safety'

export const electionSafety: MakeLaw = () => {
  const leaders = new Map<number, { readonly id: string; readonly starts: number }>()
  return {
    name,
    role(member, role, term) {
      if (role !== 'leader') return
      const { id, starts } = member
      const first = leaders.get(term)
      if (first === undefined) leaders.set(term, { id, starts })
      else if (first.id !== id) throw new LawBroken(name, `${first.id} and ${id} both lead in term ${term}`)
      else if (first.starts !== starts)
        throw new LawBroken(name, `${id} leads in term ${term} again, after another start`)
    },
  }
}
