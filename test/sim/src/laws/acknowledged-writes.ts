// Rule: no acknowledged write is lost. The write is committed at its index, and each later leader has the
// write at this index.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'acknowledged-writes'

export const acknowledgedWrites: MakeLaw = (cluster) => {
  const acknowledged = new Map<number, number>()
  let highest = 0
  return {
    name,
    acknowledged({ index, term }) {
      if (cluster.committed[index]?.term !== term) {
        throw new LawBroken(name, `(${index}, ${term}) was acknowledged and is not committed`)
      }
      acknowledged.set(index, term)
      highest = Math.max(highest, index)
    },
    role(member, role, term) {
      if (role !== 'leader') return
      // A leader may win its term late and lack entries that were committed in this term or a later one
      // (leader-completeness.ts).
      const index = Math.min(highest, cluster.committedBefore(term))
      const wanted = acknowledged.get(index)
      if (wanted === undefined || cluster.holds(member.live, index, wanted)) return
      throw new LawBroken(
        name,
        `${member.id} leads term ${term} without the acknowledged (${index}, ${wanted})`,
      )
    },
    finish() {
      for (const [index, term] of acknowledged) {
        for (const member of cluster.members.values()) {
          if (member.commit < index || cluster.holds(member.live, index, term)) continue
          throw new LawBroken(
            name,
            `${member.id} has committed beyond the acknowledged (${index}, ${term}), without it`,
          )
        }
      }
    },
  }
}
