// Rule: removes the contexts of holds from answers to clients without the right to read. An answer about a
// lock contains the Owner with the context that the holder has set. The context is removed even if the client
// names itself as the holder, because any client can know the id of a holder.

import {
  type Answer,
  type Command,
  decodeAnswer,
  isError,
  okAnswer,
  OP,
  type OwnerResult,
  type TicketResult,
  type TryLockAllResult,
  type TryLockResult,
} from '@latchkey/protocol'

export type HiddenFields = (answer: Answer | Uint8Array) => Answer | Uint8Array

const OF_ONE_HOLD: ReadonlySet<number> = new Set([OP.release, OP.downgrade, OP.proclaim, OP.rotate])

/** Undefined if the answer has no context. */
export function heldBackOf(command: Command): HiddenFields | undefined {
  const [op] = command
  if (op === OP.applyOnce) return heldBackOf(command[2])
  if (op === OP.tryLock || op === OP.steal) return OF_ASKING
  if (op === OP.tryLockAll) return OF_ASKING_ALL
  if (OF_ONE_HOLD.has(op)) return OF_RELEASE
  if (op === OP.cancelWait) return OF_TICKET
  // In most commands, a list as the first argument contains the guards of a write. In renew and releaseAll,
  // such a list contains locks.
  const isGuarded = op !== OP.renew && op !== OP.releaseAll && Array.isArray(command[1])
  return isGuarded ? OF_GUARDED : undefined
}

/** If the guard of a write fails, the error contains the Owner of the guard's lock. */
const OF_GUARDED: HiddenFields = (given) => {
  const answer = given instanceof Uint8Array ? decodeAnswer(given) : given
  if (!isError(answer) || !answer[4]) return given
  const [code, message, retryable, unknown, [id, , ...rest]] = answer
  return [code, message, retryable, unknown, [id, null, ...rest]]
}

const within =
  <Result>(change: (result: Result) => Result): HiddenFields =>
  (given) => {
    const answer = given instanceof Uint8Array ? decodeAnswer(given) : given
    return isError(answer) ? answer : okAnswer(change(answer[1] as Result))
  }

const OF_ASKING = within<TryLockResult>(([owner, ...rest]) => [ownerWithoutContext(owner), ...rest])
const OF_ASKING_ALL = within<TryLockAllResult>(([state, owners]) => [state, owners.map(ownerWithoutContext)])
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
