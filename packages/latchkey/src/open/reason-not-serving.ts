// Rule: finds the reason why a member serves no clients. A client that gets this reason connects to another
// member.

import { LatchkeyError } from '@latchkey/protocol'
import type { Member } from '../member/member.js'
import { removed } from '../member/own-membership.js'

export const openingAnew = (): LatchkeyError =>
  new LatchkeyError('ERR_NO_LEADER', 'This member is being opened anew.')

/** Undefined if the member serves clients. `member` is undefined while the member is opened again. */
export function whyNotServed(member: Member | undefined): LatchkeyError | undefined {
  if (member === undefined) return openingAnew()
  if (member.replica.isAsking) return new LatchkeyError('ERR_NO_LEADER', ASKING)
  if (member.isLeft) return new LatchkeyError('ERR_NO_LEADER', removed(member.id))
  if (!member.isOutside) return undefined
  return new LatchkeyError(
    'ERR_NO_LEADER',
    `${member.id} was removed from its cluster, or has not been told yet that it was added.`,
  )
}

const ASKING =
  'The option members of this member has members or addresses that its log does not know. This member serves no clients until it has asked these members for their cluster.'
