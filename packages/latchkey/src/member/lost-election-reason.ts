// Rule: explains why this member has lost an election. The explanation names members that refused their vote,
// members that did not answer, and a member that leads or has a higher term. The explanation does not say why
// a member refused its vote, because a refusal comes without a reason.

import type { LostCampaign, MemberId } from '@latchkey/raft'

interface Outcome {
  readonly self: MemberId
  readonly voters: readonly MemberId[]
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
      : `${refused.join(', ')} refused (their vote went to another member, or this member's log is behind)`,
    silent.length === 0 ? '' : `${silent.join(', ')} did not answer`,
  ]
  return reasons.filter((reason) => reason !== '').join('; ')
}
