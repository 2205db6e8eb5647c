// Rule: a durable term never becomes smaller, and a vote of a term never changes. After a crash, a member
// finds everything that was reported to it as durable.

import { LawBroken } from './verdict.js'
import type { RecoveredState } from './law-events.js'
import type { MakeLaw } from './law.js'
import type { ObservedMember } from './observed-cluster.js'

const name = 'hard-state'

export const hardState: MakeLaw = () => ({
  name,
  persisting(member, batch) {
    const next = batch.hardState
    if (next === undefined) return
    follows(member, next.term, next.vote, member.hard.term, member.hard.vote)
  },
  booted(member, found) {
    follows(member, found.term, found.vote, member.durableHard.term, member.durableHard.vote)
    remembers(member, found)
  },
})

function follows(
  member: ObservedMember,
  term: number,
  vote: string | undefined,
  oldTerm: number,
  oldVote: string | undefined,
): void {
  if (term < oldTerm) throw new LawBroken(name, `${member.id} goes back from term ${oldTerm} to ${term}`)
  if (term === oldTerm && oldVote !== undefined && vote !== oldVote) {
    throw new LawBroken(name, `${member.id} voted for ${oldVote} in term ${term}, now says ${vote}`)
  }
}

/**
 * Everything durable must be there, except data that an unsynced truncation or restart of the log may have
 * removed.
 */
function remembers(member: ObservedMember, found: RecoveredState): void {
  if (member.unsynced.some((batch) => batch.restartAfter !== undefined)) return
  let end = member.disk.lastIndex
  for (const { truncateFrom } of member.unsynced) {
    if (truncateFrom !== undefined) end = Math.min(end, truncateFrom - 1)
  }
  const last = found.entries[found.entries.length - 1]?.index ?? found.base.index
  if (last < end) throw new LawBroken(name, `${member.id} finds a log up to ${last}, durable was ${end}`)
  const at = Math.max(found.base.index + 1, Math.min(end, last))
  const entry = found.entries[at - found.base.index - 1]
  if (entry !== undefined && at <= end && entry.term !== member.disk.termAt(at)) {
    throw new LawBroken(name, `${member.id} finds term ${entry.term} at ${at}, durable was another`)
  }
}
