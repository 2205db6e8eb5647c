// Rule: each appended configuration follows from the configuration before, so that quorums of the two always
// have a common member.

import type { Entry, Membership } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'
import type { ObservedMember } from './observed-cluster.js'
import type { ReadMembership } from './observed-log.js'
import { membershipText } from './membership-as-text.js'

const name = 'committed-configuration'

export const committedConfiguration =
  (decode: ReadMembership): MakeLaw =>
  () => ({
    name,
    persisting(member, batch) {
      if (member.role !== 'leader') return
      for (const entry of batch.entries) {
        if (entry.kind === 'members') proposed(member, entry, decode(entry.data))
      }
    },
    /**
     * A member uses the latest configuration in its log. If the log has none, the member uses the
     * configuration of its snapshot.
     */
    membership(member, membership) {
      if (membershipText(membership) === membershipText(member.live.membership)) return
      throw new LawBroken(
        name,
        `${member.id} acts on ${membershipText(membership)}, its log says ${membershipText(member.live.membership)}`,
      )
    },
  })

function proposed(member: ObservedMember, entry: Entry, next: Membership): void {
  const where = `${member.id}: configuration ${entry.index}`
  const before = member.live.membership
  if (member.live.membershipIndex > member.commit) {
    throw new LawBroken(name, `${where} while ${member.live.membershipIndex} is not committed`)
  }
  if (member.live.termAt(member.commit) !== member.term) {
    throw new LawBroken(name, `${where} before an entry of term ${member.term} is committed`)
  }
  const wrong = wellFormed(next) ?? follows(before, next)
  if (wrong !== undefined) {
    throw new LawBroken(name, `${where}: ${wrong}: ${membershipText(before)} then ${membershipText(next)}`)
  }
}

function wellFormed(membership: Membership): string | undefined {
  const { voters, outgoing, learners, learnersNext } = membership
  if (voters.length === 0) return 'no voters'
  for (const list of [voters, outgoing, learners, learnersNext]) {
    if (new Set(list).size !== list.length) return 'a member twice'
  }
  if (learners.some((id) => voters.includes(id) || outgoing.includes(id))) return 'a learner that votes'
  if (outgoing.length === 0 && learnersNext.length > 0) return 'learners of a half that is not there'
  return undefined
}

/**
 * A valid change adds or removes one voter, enters a joint configuration with the old voters, or leaves a
 * joint configuration.
 */
function follows(before: Membership, next: Membership): string | undefined {
  const wasJoint = before.outgoing.length > 0
  const isJoint = next.outgoing.length > 0
  if (wasJoint && isJoint) return 'a joint configuration after another'
  if (wasJoint) return same(before.voters, next.voters) ? undefined : 'the new half changed at leaving'
  if (isJoint) return same(before.voters, next.outgoing) ? undefined : 'the old half is not the old voters'
  const changed =
    next.voters.filter((id) => !before.voters.includes(id)).length +
    before.voters.filter((id) => !next.voters.includes(id)).length
  return changed <= 1 ? undefined : 'more than one voter at once'
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  [...a].sort().join() === [...b].sort().join()
