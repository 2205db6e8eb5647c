// Rule: explains why this member has lost an election, as far as it knows. The explanation names the members
// that have refused their vote, the members that have not answered, and another member that leads or is in a
// higher term. A refusal does not contain its reason.

import type { LostCampaign, MemberId } from '@latchkey/raft'

interface Outcome {
  readonly self: MemberId
  readonly voters: readonly MemberId[]
  /** The present leader. */
  readonly leader: MemberId | undefined
}

export function whyElectionLost(lost: LostCampaign, { self, voters, leader }: Outcome): string {
  const others = voters.filter((id) => id !== self)
  const refused = others.filter((id) => lost.votes.get(id) === false)
  const silent = others.filter((id) => !lost.votes.has(id))
  const reasons = [
    leader === undefined ? '' : `${leader} leads`,
    lost.higherTerm === undefined ? '' : `another member is in term ${lost.higherTerm} already`,
    refused.length === 0
      ? ''
      : `${refused.join(', ')} refused (another has the vote, or this member's log is behind)`,
    silent.length === 0 ? '' : `${silent.join(', ')} did not answer`,
  ]
  return reasons.filter((reason) => reason !== '').join('; ')
}
