// Rule: checks a recorded history of lock calls, of their answers, and of promises. A promise is a process's
// statement that it holds a lock. The checker shares no code with the rules that it checks.

import { OWNER_CODES, type OwnerCode, type OwnerResult } from '@latchkey/protocol'

interface Applied {
  readonly time: number
  /**
   * The real time at which the leader gave the entry its cluster time. All real times come from one clock,
   * which never stands still.
   */
  readonly at: number
  readonly key: string
}

export type LockEvent =
  /**
   * An attempt to acquire. `call` is the same for all retries of one call. `queued` is true if the caller now
   * waits in the queue.
   */
  | (Applied & {
      readonly kind: 'ask'
      readonly call: string
      readonly id: string
      readonly owner: OwnerResult
      readonly queued: boolean
      readonly lease: number
    })
  | (Applied & {
      readonly kind: 'renew'
      readonly call: string
      readonly id: string
      readonly token: number
      readonly owner: OwnerResult
    })
  | (Applied & {
      readonly kind: 'release'
      readonly call: string
      readonly id: string
      readonly token: number
      readonly owner: OwnerResult
    })
  /** A waiter was granted the lock. */
  | (Applied & { readonly kind: 'grant'; readonly owner: OwnerResult })
  /**
   * A waiter has left the queue because the caller cancelled the wait, or because the wait or the session was
   * over.
   */
  | (Applied & { readonly kind: 'left'; readonly id: string })
  /** A hold was ended by force, or cancelWait gave the hold back. */
  | (Applied & { readonly kind: 'forced'; readonly token: number })
  /** A grant that its session did not confirm ended before its deadline. */
  | (Applied & { readonly kind: 'untouched'; readonly token: number })
  | { readonly kind: 'answer'; readonly call: string; readonly owner: OwnerResult }
  /** A process reported, at the real time `at`, that it holds the lock with this token. */
  | { readonly kind: 'promise'; readonly key: string; readonly token: number; readonly at: number }

export type Law =
  | 'one holder'
  | 'growing tokens'
  | 'exactly once'
  | 'first come first served'
  | 'promises'
  | 'counts'
interface Violation {
  readonly law: Law
  readonly event: LockEvent
  readonly message: string
}

interface Ownership {
  readonly id: string
  readonly token: number
  readonly from: number
  deadline: number
  acquires: number
  /** The real time from which this hold is certainly over. */
  endedAt: number
}

interface KeyHistory {
  readonly owners: Ownership[]
  readonly queue: string[]
  /** The cluster time at which a command ended the last hold. Undefined after the next hold has begun. */
  freeSince: number | undefined
}

type Owned = Extract<LockEvent, { owner: OwnerResult; key: string }>
type Report = (law: Law, event: LockEvent, message: string) => void

const codeOf = (owner: OwnerResult): OwnerCode => OWNER_CODES[owner[6]] as OwnerCode
const isNew = (owner: OwnerResult) => codeOf(owner) === 'FIRST_TIME' || codeOf(owner) === 'NEW_ACQUIRE'

export function judgeHistory(events: readonly LockEvent[]): Violation[] {
  const violations: Violation[] = []
  const report: Report = (law, event, message) => violations.push({ law, event, message })
  const histories = new Map<string, KeyHistory>()
  for (const event of events) {
    if (event.kind === 'answer' || event.kind === 'promise') continue
    const history = histories.get(event.key) ?? { owners: [], queue: [], freeSince: undefined }
    histories.set(event.key, history)
    checkDeadline(history, event)
    checkQueueAfterEnd(history, event, report)
    checkEvent(history, event, report)
  }
  judgeCalls(events, report)
  judgePromises(events, histories, report)
  return violations
}

function checkEvent(
  history: KeyHistory,
  event: Exclude<LockEvent, { kind: 'answer' | 'promise' }>,
  report: Report,
): void {
  switch (event.kind) {
    case 'ask':
      return checkAcquire(history, event, report)
    case 'grant':
      return checkGrant(history, event, report)
    case 'renew':
      return checkRenewal(history, event, report)
    case 'release':
      return checkRelease(history, event, report)
    case 'left':
      return leaveQueue(history, event.id)
    case 'forced':
    case 'untouched':
      return endHold(history, event, event.token, report)
  }
}

function checkAcquire(history: KeyHistory, event: Extract<LockEvent, { kind: 'ask' }>, report: Report): void {
  const { owner } = event
  const holder = holderAt(history, event.time)
  if (isNew(owner)) {
    if (history.queue.length > 0) {
      report(
        'first come first served',
        event,
        `${event.id} got it past ${history.queue.join(', ')}, who waited`,
      )
    }
    return begin(history, event, report)
  }
  if (codeOf(owner) === 'HELD') {
    if (holder === undefined)
      report(
        'exactly once',
        event,
        `${event.id} was refused with HELD, but nobody holds it: a hold was lost or one is stuck`,
      )
    else if (holder.id !== owner[0])
      report('one holder', event, `${owner[0]} is said to hold it, but ${holder.id} does`)
    if (event.queued && !history.queue.includes(event.id)) history.queue.push(event.id)
    return
  }
  if (codeOf(owner) === 'KEEP_LEASE_FAIL') return missing(holder, event, event.id, report)
  continued(holder, event, codeOf(owner) === 'REENTRANT' ? 1 : 0, report)
}

function checkGrant(history: KeyHistory, event: Extract<LockEvent, { kind: 'grant' }>, report: Report): void {
  const [first] = history.queue
  const [id] = event.owner
  if (first !== id)
    report(
      'first come first served',
      event,
      `${id} was granted, but ${first ?? 'nobody'} was first in the line`,
    )
  leaveQueue(history, id)
  begin(history, event, report)
}

function checkRenewal(
  history: KeyHistory,
  event: Extract<LockEvent, { kind: 'renew' }>,
  report: Report,
): void {
  const holder = holderAt(history, event.time)
  if (codeOf(event.owner) === 'KEEP_LEASE') continued(holder, event, 0, report)
  else if (codeOf(event.owner) === 'KEEP_LEASE_FAIL') missing(holder, event, event.id, report)
  else if (isOwn(holder, event)) missing(holder, event, event.id, report)
}

function checkRelease(
  history: KeyHistory,
  event: Extract<LockEvent, { kind: 'release' }>,
  report: Report,
): void {
  const { owner, id } = event
  const holder = holderAt(history, event.time)
  const code = codeOf(owner)
  if (code === 'NOT_HELD' || code === 'EXPIRED') return missing(holder, event, id, report)
  if (code === 'NOT_OWNER') return isOwn(holder, event) ? missing(holder, event, id, report) : undefined
  if (holder === undefined || holder.id !== id || holder.token !== owner[3]) {
    return report('exactly once', event, `${id} released token ${owner[3]}, which was not in force`)
  }
  if (code === 'DECREMENTED') {
    holder.acquires--
    if (holder.acquires !== owner[4])
      report('counts', event, `${owner[4]} acquires are said to be left, ${holder.acquires} are`)
    return
  }
  holder.endedAt = event.at
  holder.deadline = Number.NEGATIVE_INFINITY
  history.freeSince = event.time
}

/**
 * Law: a new hold begins only while no other hold is in force. The token of the new hold is higher than all
 * earlier tokens of the lock.
 */
function begin(history: KeyHistory, event: Owned, report: Report): void {
  const [id, deadline, , token, acquires] = event.owner
  const last = history.owners.at(-1)
  if (last !== undefined && event.time <= last.deadline) {
    report(
      'one holder',
      event,
      `${id} got token ${token} at ${event.time}, but ${last.id} holds it until ${last.deadline}`,
    )
  }
  if (last !== undefined && token <= last.token) {
    report('growing tokens', event, `token ${token} of ${id} follows token ${last.token}`)
  }
  if (acquires !== 1) report('counts', event, `a new ownership with ${acquires} acquires`)
  history.freeSince = undefined
  // Even if this grant was wrong, its receiver may believe that it holds the lock. So from now on each
  // promise of the earlier holder is an error.
  if (last !== undefined) last.endedAt = Math.min(last.endedAt, event.at)
  history.owners.push({ id, token, from: event.at, deadline, acquires, endedAt: Number.POSITIVE_INFINITY })
}

function continued(holder: Ownership | undefined, event: Owned, more: number, report: Report): void {
  const [id, deadline, , token, acquires] = event.owner
  if (holder === undefined || holder.id !== id || holder.token !== token) {
    return report(
      'one holder',
      event,
      `${id} kept token ${token}, but ${holder ? `${holder.id} holds it` : 'it was over'}`,
    )
  }
  holder.acquires += more
  if (holder.acquires !== acquires)
    report(
      'counts',
      event,
      `${acquires} acquires after ${holder.acquires - more} and ${more} more: doubled or lost`,
    )
  if (deadline < holder.deadline)
    report('exactly once', event, `its deadline went back from ${holder.deadline} to ${deadline}`)
  holder.deadline = deadline
  holder.acquires = acquires
}

function missing(holder: Ownership | undefined, event: LockEvent, id: string, report: Report): void {
  if (holder !== undefined && holder.id === id)
    report('exactly once', event, `the hold of ${id}, token ${holder.token}, was lost`)
}

function endHold(history: KeyHistory, event: Applied & LockEvent, token: number, report: Report): void {
  const holder = holderAt(history, event.time)
  if (holder === undefined || holder.token !== token)
    return report('exactly once', event, `token ${token} was ended, but is not in force`)
  holder.deadline = Number.NEGATIVE_INFINITY
  holder.endedAt = event.at
  history.freeSince = event.time
}

function holderAt(history: KeyHistory, time: number): Ownership | undefined {
  const last = history.owners.at(-1)
  return last !== undefined && time <= last.deadline ? last : undefined
}

function checkDeadline(history: KeyHistory, event: Applied): void {
  const last = history.owners.at(-1)
  if (last !== undefined && event.time > last.deadline) last.endedAt = Math.min(last.endedAt, event.at)
}

/**
 * Law: the log entry that ends a hold also grants the lock to the first waiter, so no lock is free while
 * callers wait (K23).
 */
function checkQueueAfterEnd(
  history: KeyHistory,
  event: Exclude<LockEvent, { kind: 'answer' | 'promise' }>,
  report: Report,
): void {
  if (history.freeSince === undefined || event.time <= history.freeSince) return
  if (history.queue.length > 0)
    report('first come first served', event, `${history.queue.join(', ')} waited on, and nobody held it`)
  history.freeSince = undefined
}

function isOwn(
  holder: Ownership | undefined,
  { id, token }: { readonly id: string; readonly token: number },
): boolean {
  return holder?.id === id && (token === 0 || token === holder.token)
}

function leaveQueue(history: KeyHistory, id: string): void {
  const place = history.queue.indexOf(id)
  if (place >= 0) history.queue.splice(place, 1)
}

/**
 * Law: a call is applied at most once, and every answer to the call is the answer of that one application.
 */
function judgeCalls(events: readonly LockEvent[], report: Report): void {
  const applied = new Map<string, Map<string, string>>()
  for (const event of events) {
    if (event.kind !== 'ask' && event.kind !== 'renew' && event.kind !== 'release') continue
    const keys = applied.get(event.call) ?? new Map<string, string>()
    applied.set(event.call, keys)
    if (keys.has(event.key)) report('exactly once', event, `call ${event.call} was applied twice`)
    else keys.set(event.key, JSON.stringify(event.owner))
  }
  for (const event of events) {
    if (event.kind !== 'answer') continue
    const given = [...(applied.get(event.call)?.values() ?? [])]
    if (given.includes(JSON.stringify(event.owner))) continue
    report(
      'exactly once',
      event,
      `the answer to call ${event.call} is none that was given: its effect was lost`,
    )
  }
}

/**
 * Law: a process may say that it holds the lock only while its hold is in force. At the real time of the
 * promise, the hold had begun and had not ended, and no later hold had begun.
 */
function judgePromises(
  events: readonly LockEvent[],
  histories: ReadonlyMap<string, KeyHistory>,
  report: Report,
): void {
  for (const event of events) {
    if (event.kind !== 'promise') continue
    const owner = histories.get(event.key)?.owners.find(({ token }) => token === event.token)
    if (owner === undefined) report('promises', event, `token ${event.token} was never given out`)
    else if (event.at < owner.from)
      report('promises', event, `token ${event.token} begins at ${owner.from} only`)
    else if (event.at > owner.endedAt)
      report('promises', event, `token ${event.token} of ${owner.id} had ended at ${owner.endedAt}`)
  }
}
