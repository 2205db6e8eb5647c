// Rule: sessions open, end, and cancel (LOCKS.md, 6).

import { endSession, type LockTransaction } from '@latchkey/lock'
import { CAPS } from '@latchkey/protocol'
import { CANCELLED, MALFORMED, answerOf, type Refused, TOO_MANY_SESSIONS } from '../commands/answers.js'
import { ANY_BODY, type Session } from '../state/session-rows.js'
import type { Sessions } from '../state/sessions.js'
import type { State } from '../state/state.js'

/** Its id is the index of its entry, so that no id is ever used again. */
export function openSession(
  sessions: Sessions,
  index: number,
  life: number,
  now: number,
  most: number,
): number | Refused {
  if (life > CAPS.maxLease) return MALFORMED
  if (sessions.size >= most) return TOO_MANY_SESSIONS
  sessions.open(index, life, now)
  return index
}

/** Its waiters leave; its holds stay until their deadline. */
export function closeSession(state: State, locks: LockTransaction, session: Session): true {
  state.sessions.end(session)
  endSession(locks, session.id)
  return true
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
