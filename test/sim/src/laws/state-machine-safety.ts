// Rule: state-machine safety. All members commit the same entry at an index, apply each entry once and in
// order, and have the same state after each entry (A10).

import type { StateHash } from './law-events.js'
import { equalEntries } from './log-matching.js'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'
import type { ObservedCluster, ObservedMember } from './observed-cluster.js'

const name = 'state-machine-safety'

export const stateMachineSafety: MakeLaw = (cluster) => {
  const states: StateHash[] = []
  const same = (id: string, index: number, state: StateHash | undefined) => {
    if (state === undefined) return
    const first = (states[index] ??= state)
    if (first.hash !== state.hash)
      throw new LawBroken(name, `${id} holds another state after entry ${index}${differing(first, state)}`)
  }
  return {
    name,
    // By log matching, the comparison of the last entry is enough.
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
    applied(member, { entry, state }) {
      const { index } = entry
      if (index !== member.applied + 1) {
        throw new LawBroken(name, `${member.id} applies ${index} after ${member.applied}`)
      }
      if (index > member.handed) throw new LawBroken(name, `${member.id} applies ${index}, not committed`)
      const agreed = cluster.committed[index]
      if (agreed !== undefined && (agreed.term !== entry.term || !equalEntries(agreed, entry)))
        throw new LawBroken(name, `${member.id} applies another entry ${index} than the committed one`)
      same(member.id, index, state)
    },
    installed(member, index, term, state) {
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
      same(member.id, index, state)
    },
  }
}

function differing(first: StateHash, { spaces = {} }: StateHash): string {
  const names = Object.keys(spaces).filter((space) => spaces[space] !== first.spaces?.[space])
  return names.length === 0 ? '' : `, in ${names.join(', ')}`
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
