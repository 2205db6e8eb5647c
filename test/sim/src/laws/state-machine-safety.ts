// Rule: state-machine safety. All members commit the same entry at an index, apply each once and in order, and hold the same state after it.

import { LawBroken, type MakeLaw } from './law.js'

const name = 'state-machine-safety'

export const stateMachineSafety: MakeLaw = (ledger) => {
  const states: number[] = []
  const same = (id: string, index: number, hash: number) => {
    const other = (states[index] ??= hash)
    if (other !== hash) throw new LawBroken(name, `${id}: another state after entry ${index}`)
  }
  return {
    name,
    decided(member, commit) {
      if (commit > member.live.lastIndex) {
        throw new LawBroken(name, `${member.id} commits ${commit}, its log ends at ${member.live.lastIndex}`)
      }
      const term = member.live.termAt(commit)
      const agreed = ledger.committed[commit]
      // By log matching the last one stands for all before it.
      if (term !== undefined && agreed !== undefined && agreed.term !== term) {
        throw new LawBroken(
          name,
          `${member.id} commits entry ${commit} of term ${term}; committed there was term ${agreed.term}`,
        )
      }
    },
    committed(member, from, to) {
      if (member.installing)
        throw new LawBroken(name, `${member.id} hands out ${from} while a snapshot is installed`)
      for (let index = from; index <= to; index++) {
        const term = member.live.termAt(index)
        const agreed = ledger.committed[index]
        if (agreed !== undefined && !ledger.keeps(member, index, agreed.term)) {
          throw new LawBroken(name, `${member.id} is to apply ${index}, which its own disk does not hold`)
        }
        if (term === undefined)
          throw new LawBroken(name, `${member.id} commits ${index}, which it does not have`)
        if (agreed !== undefined && agreed.term !== term) {
          throw new LawBroken(
            name,
            `${member.id} commits entry ${index} of term ${term}; committed there was term ${agreed.term}`,
          )
        }
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
      const agreed = ledger.committed[index]
      if (agreed !== undefined && agreed.term !== term) {
        throw new LawBroken(
          name,
          `${member.id} installs a snapshot of (${index}, ${term}), committed: ${agreed.term}`,
        )
      }
      if (index < member.applied) {
        throw new LawBroken(name, `${member.id} goes back from ${member.applied} to a snapshot of ${index}`)
      }
      same(member.id, index, hash)
    },
  }
}
