// Rule: what a leader commits is on the disks of a quorum at that moment, counted by the configuration of its log, and ends with its own term.

import { LawBroken, type MakeLaw } from './law.js'
import { isQuorum } from './ledger.js'

const name = 'durable-quorum'

export const durableQuorum: MakeLaw = (ledger) => ({
  name,
  committed(member, _from, to) {
    if (member.role !== 'leader') return
    const term = member.live.termAt(to)
    if (term === undefined) return
    if (term !== member.term) {
      throw new LawBroken(name, `${member.id} of term ${member.term} commits up to ${to}, of term ${term}`)
    }
    const has = (id: string) => ledger.holds(ledger.member(id).disk, to, term)
    const { membership } = member.live
    if (isQuorum(membership, has)) return
    const durable = membership.voters.filter(has)
    throw new LawBroken(
      name,
      `${member.id} commits ${to} of term ${term}; of ${membership.voters} only [${durable}] have it on disk`,
    )
  },
})
