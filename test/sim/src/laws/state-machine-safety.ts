// Rule: state-machine safety. All members commit the same entry at an index, apply each once and in order,
// and hold the same state after it.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'
import type { ObservedCluster, ObservedMember } from './observed-cluster.js'

const name = 'state-machine-safety'

export const stateMachineSafety: MakeLaw = (cluster) => {
  const states: number[] = []
  const same = (id: string, index: number, hash: number) => {
    const other = (states[index] ??= hash)
    if (other !== hash) throw new LawBroken(name, `${id}: another state after entry ${index}`)
  }
  return {
    name,
    // By log matching the last entry stands for all before it.
    decided: (member, commit) => agrees(cluster, member, commit),
    committed(member, from, to) {
      if (member.installing)
        throw new LawBroken(name, `${member.id} hands out ${from} while a snapshot is installed`)
      for (let index = from; index <= to; index++) {
        agrees(cluster, member, index)
        if (cluster.keeps(member, index, cluster.committed[index]?.term ?? 0)) continue
        throw new LawBroken(name, `${member.id} is to apply ${index}, which its own disk does not hold`)
      }
    },
    applied(member, index, hash) {
      if (index !== member.applied + 1) {
        throw new LawBroken(name, `${member.id} applies ${index} after ${member.applied}`)
      }
      if (index > member.handed) throw new LawBroken(name, `${member.id} applies ${index}, not committed`)
      same(member.id, index, hash)
    },
    installed(member, index, term, hash) {
      const agreed = cluster.committed[index]?.term ?? term
      if (agreed !== term) {
        throw new LawBroken(
          name,
          `${member.id} installs a snapshot of (${index}, ${term}), committed: ${agreed}`,
        )
      }
      if (index < member.applied) {
        throw new LawBroken(name, `${member.id} goes back from ${member.applied} to a snapshot of ${index}`)
      }
      same(member.id, index, hash)
    },
  }
}

function agrees(cluster: ObservedCluster, member: ObservedMember, index: number): void {
  const term = member.live.termAt(index)
  const agreed = cluster.committed[index]?.term
  if (index > member.live.lastIndex || (term === undefined && index > member.live.base.index)) {
    throw new LawBroken(name, `${member.id} commits ${index}, its log ends at ${member.live.lastIndex}`)
  }
  if (term === undefined || agreed === undefined || agreed === term) return
  throw new LawBroken(
    name,
    `${member.id} commits entry ${index} of term ${term}; committed there was term ${agreed}`,
  )
}
