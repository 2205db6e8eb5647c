// Rule: decides how the waits of parties end (docs/latches.md). A party is a call that waits at a latch or a
// barrier. The table shows what happens to a party:
//
//   the party         what happens                          then the party
//   waits             its latch opens                       has passed, and its client is told
//   waits             its latch is removed                  is told 'removed'
//   waits             its barrier is complete               has passed, with its generation and index
//   waits             a session of its generation ends      is told 'broken'
//   waits             its own session ends                  is removed; the other parties of its barrier
//                                                           are told 'broken'
//   waits             its time limit is over, or it leaves  is removed; the other parties go on waiting
//   any               its client has a new session          belongs to the new session
//   has ended         it leaves, or its session ends        is forgotten
//   has ended         anything else                         keeps its end, so that its client can ask again
//
// Laws
// - K70: the end of a wait is decided once. The party keeps its end until its client has confirmed it, or its
//   session is over. Without this law: a latch opens, the message to one client is lost, the latch is
//   removed, and that client is told that there is no latch, while all others were told that it opened.
// - K71: all parties that wait at a latch or in a generation get the same end, in one entry.

import type { PartyResult, PartyTicket } from '@latchkey/protocol'
import { breakGeneration } from './barriers.js'
import { BARRIER, partyOf } from './end-latch-and-barrier-waits.js'
import type { PartyTransaction } from './latch-and-barrier-transaction.js'

/** Removes each party, in the order of the list. The answer has the former state of each party. */
export function leaveParties(tx: PartyTransaction, list: readonly PartyTicket[]): PartyResult[] {
  return list.map(([of, name, id]) => {
    const result = partyOf(tx, of, name, id)
    const row = tx.party(of, name, id)
    if (row !== undefined) tx.deleteParty(row)
    return result
  })
}

/**
 * Moves the party to another session, because its client has opened one. Without this call: the members have
 * no leader for a minute, and the client gives up its session and opens another one. The end of the wait is
 * then told to the old session.
 */
export function moveParty(tx: PartyTransaction, session: number, [of, name, id]: PartyTicket): PartyResult {
  const row = tx.party(of, name, id)
  if (row !== undefined) tx.putParty({ ...row, session })
  return partyOf(tx, of, name, id)
}

/**
 * Called when a session has ended. Its parties are removed, and all other parties at their barriers are told
 * (K72, barriers.ts).
 */
export function endParties(tx: PartyTransaction, session: number): void {
  for (const row of tx.partiesOf(session)) {
    // Another party of this session may have broken the generation just before. This generation is then over
    // for the present party too.
    const now = tx.party(row.of, row.name, row.id)
    if (now === undefined) continue
    tx.deleteParty(now)
    if (now.state !== 'waiting' || now.of !== BARRIER) continue
    // The client may still exist, because an administrator can end a session. So the client is told the end
    // of its wait.
    tx.ended({ ...now, state: 'broken' })
    breakGeneration(tx, now.name)
  }
}

/** Runs at each entry, before the commands and after the sessions that are over have ended (CT3). */
export function expireParties(tx: PartyTransaction, now: number): void {
  for (const row of tx.dueParties(now)) tx.deleteParty(row)
}
