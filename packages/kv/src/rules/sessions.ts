// Rule: opens, ends, replaces and lists sessions, and cancels their calls (docs/locks.md, section 6).
//
// Laws
// - 1: the number of sessions of one identity is limited, so that one client cannot use up all sessions.
// - 2: if there is no room for a new session, the state machine ends an idle session. An idle session has no
//   hold in force, no waiter, no wait at a latch or barrier and no ephemeral key. Its client has sent no
//   command for a long time. If several sessions are idle, the session with the oldest renewal ends, so that
//   every member ends the same session. If the client of the ended session returns, it opens another session.
// - 3: if an identity has as many sessions as it may have, only an idle session of the same identity ends for
//   its new session.

import { endSession, type LockTransaction, removeWaiters } from '@latchkey/lock'
import type { SessionResult } from '@latchkey/protocol'
import {
  CANCELLED,
  answerOf,
  Refused,
  TOO_MANY_OF_ONE,
  TOO_MANY_SESSIONS,
} from '../commands/answer-encoding.js'
import { ANY_BODY, type Session } from '../state/session-rows.js'
import type { Sessions } from '../state/sessions.js'
import type { State } from '../state/store-state.js'
import { endParties } from './latch-and-barrier-waits.js'

export interface SessionLimits {
  readonly sessions: number
  readonly sessionsOfOne: number
  readonly sessionIdleMillis: number
}

interface Wanted {
  /** The id of a session is the index of its log entry, so no id is used twice. */
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

/**
 * Returns the idle session that must end before the identity `by` can open a session. Returns undefined if
 * there is room, or the refusal if no session can end.
 */
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

/** Returns the refusal that `openSession` would get now, or undefined if the call would succeed. */
export function refusalOfSession(state: State, limits: SessionLimits, by: string): Refused | undefined {
  const gives = whoGivesWay(state, state.meta.position.time, limits, by)
  return gives instanceof Refused ? gives : undefined
}

const renewedAt = ({ due, life }: Session): number => due - life

/**
 * Returns the idle session with the oldest renewal (law 2), or undefined if no session is idle. With `by`,
 * only the sessions of this identity are searched.
 */
function longestIdle(
  { sessions, holds, waiters, expiryIndex, parties }: State,
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
    const isUsed =
      holds.countOf(session.id) + waiters.countOf(session.id) > 0 ||
      expiryIndex.mayHaveKeys(session.id) ||
      parties.countOf(session.id) > 0
    if (!isUsed) found = session
  }
  return found
}

const isBefore = (a: Session, b: Session): boolean =>
  renewedAt(a) < renewedAt(b) || (renewedAt(a) === renewedAt(b) && a.id < b.id)

/**
 * Returns the reason why no client can open a session now, or undefined if some client can. The limit for one
 * identity is ignored here, because other identities can still open sessions.
 */
export function whyNoSession(state: State, limits: SessionLimits): string | undefined {
  const { sessions, meta } = state
  if (sessions.size < limits.sessions || longestIdle(state, meta.position.time, limits) !== undefined)
    return undefined
  return `No session can be opened: there are ${sessions.size}, and each of them holds or waits for a lock, or was used recently.`
}

export function listSessions({ sessions, holds, waiters, parties, meta }: State): SessionResult[] {
  const now = meta.position.time
  return [...sessions.all()]
    .sort((a, b) => a.id - b.id)
    .map((session) => {
      const { id, by, life } = session
      const waits = waiters.countOf(id) + parties.countOf(id)
      return [id, by, life, now - renewedAt(session), holds.countOf(id), waits]
    })
}

/**
 * Ends a session. Its waiters leave the queues of locks, and its waits at latches and barriers end. The next
 * entry removes its ephemeral keys. Its holds stay until their deadlines.
 */
export function closeSession(state: State, locks: LockTransaction, session: Session): true {
  end(state, session)
  endSession(locks, session.id)
  return true
}

function end({ sessions, expiryIndex, parties }: State, session: Session): void {
  sessions.end(session)
  expiryIndex.sessionOver(session.id)
  endParties(parties, session.id)
}

/** Ends a session for an administrator. */
export function endSessionOf(state: State, locks: LockTransaction, id: number): boolean {
  const session = state.sessions.get(id)
  return session !== undefined && closeSession(state, locks, session)
}

/**
 * Ends the sessions whose deadline has passed, in the order of their deadlines, then of their ids (CT3). All
 * these sessions end before any waiter leaves. Otherwise a waiter of one ended session could leave, and a
 * waiter of another ended session could get the lock. Returns the keys of the queues that lost their first
 * waiter.
 */
export function endDueSessions(state: State, locks: LockTransaction): Uint8Array[] {
  const over = state.sessions.takeDue(locks.now)
  for (const session of over) end(state, session)
  return over.flatMap((session) => removeWaiters(locks, session.id))
}

/**
 * Cancels the call `number`. Returns true if the call will never be executed. Returns false if the session
 * still has the answer of the call, or has dropped the answer because the client has received it.
 */
export function cancelCall(sessions: Sessions, session: Session, number: number): boolean {
  if (number < session.done) return false
  const kept = session.replies.get(number)
  if (kept !== undefined) return kept.crc === ANY_BODY
  sessions.keep(session, number, ANY_BODY, answerOf(CANCELLED))
  return true
}
