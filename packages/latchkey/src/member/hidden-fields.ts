// Rule: what an answer leaves out for a client without the right to read. An answer about a lock contains its
// Owner with the context of the hold, a value that the holder has set for readers. The context is left out
// also if the client names itself as the holder: the ids of holders are known to everybody.

import {
  type Answer,
  type Command,
  decodeAnswer,
  isError,
  okAnswer,
  OP,
  type OwnerResult,
  type TicketResult,
} from '@latchkey/protocol'

export type HiddenFields = (answer: Answer | Uint8Array) => Answer | Uint8Array

/** undefined: the answer contains no context. The owners in the answer to a renewal have none. */
export function heldBackOf([op]: Command): HiddenFields | undefined {
  if (op === OP.tryLock) return OF_ASKING
  if (op === OP.release) return OF_RELEASE
  return op === OP.cancelWait ? OF_TICKET : undefined
}

const within =
  <Result>(change: (result: Result) => Result): HiddenFields =>
  (given) => {
    const answer = given instanceof Uint8Array ? decodeAnswer(given) : given
    return isError(answer) ? answer : okAnswer(change(answer[1] as Result))
  }

const OF_ASKING = within<readonly [OwnerResult, boolean]>(([owner, queued]) => [
  ownerWithoutContext(owner),
  queued,
])
const OF_RELEASE = within<OwnerResult>((owner) => ownerWithoutContext(owner))
const OF_TICKET = within<TicketResult>((ticket) => ticketWithoutContext(ticket))

export const ticketWithoutContext = ([state, owner]: TicketResult): TicketResult => [
  state,
  owner === null ? null : ownerWithoutContext(owner),
]

export const ownerWithoutContext = ([
  id,
  deadline,
  remaining,
  token,
  acquires,
  ,
  ...rest
]: OwnerResult): OwnerResult => [id, deadline, remaining, token, acquires, null, ...rest]
