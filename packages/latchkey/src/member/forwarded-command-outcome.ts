// Rule: makes the message with the outcome of a forwarded command. The message goes to the member that
// forwarded the command.

import type { Outcome } from '@latchkey/raft'
import type { MemberMessage } from './non-raft-member-messages.js'
import { provenTime } from './client-connection.js'

export function outcomeMessage(id: number, outcome: Outcome): MemberMessage {
  switch (outcome.type) {
    case 'applied':
      return { kind: 'applied', id, time: provenTime(outcome), bytes: outcome.answer.bytes }
    case 'refused':
      return { kind: 'refused', id, reason: outcome.reason }
    case 'unknown':
      return { kind: 'unknown', id }
  }
}
