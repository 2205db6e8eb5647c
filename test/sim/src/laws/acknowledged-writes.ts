// Rule: no acknowledged write is lost. It is committed at its place, and every log that reaches so far holds it for ever.

import { LawBroken, type MakeLaw } from './law.js'

const name = 'acknowledged-writes'

export const acknowledgedWrites: MakeLaw = (ledger) => {
  const acknowledged = new Map<number, number>()
  const inTerms: { readonly term: number; index: number }[] = []
  return {
    name,
    acknowledged({ index, term }) {
      if (ledger.committed[index]?.term !== term) {
        throw new LawBroken(name, `(${index}, ${term}) was acknowledged and is not committed`)
      }
      acknowledged.set(index, term)
      const last = inTerms[inTerms.length - 1]
      if (last !== undefined && last.term >= term) last.index = Math.max(last.index, index)
      else inTerms.push({ term, index })
    },
    role(member, role, term) {
      if (role !== 'leader') return
      const mark = inTerms.findLast((candidate) => candidate.term < term)
      if (mark === undefined) return
      const wanted = acknowledged.get(mark.index)
      if (wanted === undefined || ledger.holds(member.live, mark.index, wanted)) return
      throw new LawBroken(name, `${member.id} leads term ${term} without the acknowledged (${mark.index}, ${wanted})`)
    },
    finish() {
      for (const [index, term] of acknowledged) {
        for (const member of ledger.members.values()) {
          if (member.commit < index || ledger.holds(member.live, index, term)) continue
          throw new LawBroken(name, `${member.id} has committed beyond the acknowledged (${index}, ${term}), without it`)
        }
      }
    },
  }
}
