// Rule: sessions open, end, give way, and cancel (docs/locks.md, 6).
//
// Laws
//   1  One identity has no more than its share of the sessions, so that nobody alone can keep all others out.
//   2  Where there is no room, a session gives way that holds nothing: no hold in force, no place in a queue, and silent for longer
//      than the client of a living store ever is. It is the one that was renewed first, so that every member ends the same one. Its
//      client, should it come back, opens another session as after any end of one.
//   3  Whose own share is used up makes room among its own.

import { endSession, type LockTransaction } from '@latchkey/lock'
import type { SessionResult } from '@latchkey/protocol'
import { CANCELLED, answerOf, Refused, TOO_MANY_OF_ONE, TOO_MANY_SESSIONS } from '../commands/answers.js'
import { ANY_BODY, type Session } from '../state/session-rows.js'
import type { Sessions } from '../state/sessions.js'
import type { State } from '../state/state.js'

export interface SessionLimits {
  readonly sessions: number
  readonly sessionsOfOne: number
  readonly sessionIdleMillis: number
}

interface Wanted {
  /** The index of its entry, so that no id is ever used again. */
  readonly id: number
  readonly life: number
  readonly by: string
}

export function openSession(
  state: State,
  locks: LockTransaction,
  { id, life, by }: Wanted,
  limits: SessionLimits,
): number | Refused {
  const gives = whoGivesWay(state, locks.now, limits, by)
  if (gives instanceof Refused) return gives
  if (gives !== undefined) closeSession(state, locks, gives)
  state.sessions.open(id, life, by, locks.now)
  return id
}

/** undefined: there is room for one more of that identity. */
function whoGivesWay(
  state: State,
  now: number,
  limits: SessionLimits,
  by: string,
): Session | Refused | undefined {
  const { sessions } = state
  if (sessions.countOf(by) >= limits.sessionsOfOne)
    return longestIdle(state, now, limits, by) ?? TOO_MANY_OF_ONE
  if (sessions.size >= limits.sessions) return longestIdle(state, now, limits) ?? TOO_MANY_SESSIONS
  return undefined
}

/** What `openSession` would answer as things stand, where that is no. */
export function refusalOfSession(state: State, limits: SessionLimits, by: string): Refused | undefined {
  const gives = whoGivesWay(state, state.meta.position.time, limits, by)
  return gives instanceof Refused ? gives : undefined
}

const renewedAt = ({ due, life }: Session): number => due - life

/** Law 2. `by`: among those alone that it opened. */
function longestIdle(
  { sessions, holds, waiters }: State,
  now: number,
  { sessionIdleMillis }: SessionLimits,
  by?: string,
): Session | undefined {
  let found: Session | undefined
  for (const session of sessions.all()) {
    if (by !== undefined && session.by !== by) continue
    const renewed = renewedAt(session)
    if (now - renewed <= sessionIdleMillis) continue
    if (found !== undefined && !isBefore(session, found)) continue
    if (holds.countOf(session.id) === 0 && waiters.countOf(session.id) === 0) found = session
  }
  return found
}

const isBefore = (a: Session, b: Session): boolean =>
  renewedAt(a) < renewedAt(b) || (renewedAt(a) === renewedAt(b) && a.id < b.id)

/** Why nobody could open one, as things stand: those who have used up their own share are told when they ask. */
export function whyNoSession(state: State, limits: SessionLimits): string | undefined {
  const { sessions, meta } = state
  if (sessions.size < limits.sessions || longestIdle(state, meta.position.time, limits) !== undefined)
    return undefined
  return `No session can be opened: there are ${sessions.size}, and each of them holds something or was heard of lately.`
}

/** By id. */
export function listSessions({ sessions, holds, waiters, meta }: State): SessionResult[] {
  const now = meta.position.time
  return [...sessions.all()]
    .sort((a, b) => a.id - b.id)
    .map((session) => {
      const { id, by, life } = session
      return [id, by, life, now - renewedAt(session), holds.countOf(id), waiters.countOf(id)]
    })
}

/** Its waiters leave; its holds stay until their deadline. */
export function closeSession(state: State, locks: LockTransaction, session: Session): true {
  state.sessions.end(session)
  endSession(locks, session.id)
  return true
}

/** As an admin asks for. */
export function endSessionOf(state: State, locks: LockTransaction, id: number): boolean {
  const session = state.sessions.get(id)
  return session !== undefined && closeSession(state, locks, session)
}

/** CT3: by deadline, then id. All are over before the first one's waiters leave, so that none of them is granted anything. */
export function endDueSessions(state: State, locks: LockTransaction): void {
  const over = state.sessions.takeDue(locks.now)
  for (const session of over) state.sessions.end(session)
  for (const session of over) endSession(locks, session.id)
}

/** true: that number will never be executed; false: it was, or its caller has said that it is finished. */
export function cancelCall(sessions: Sessions, session: Session, number: number): boolean {
  if (number < session.done) return false
  const kept = session.replies.get(number)
  if (kept !== undefined) return kept.crc === ANY_BODY
  sessions.keep(session, number, ANY_BODY, answerOf(CANCELLED))
  return true
}
