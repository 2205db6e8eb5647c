// Rule: decides how the waits at latches and barriers end (docs/latches.md). A party is a call that waits at
// a latch or barrier. A generation is one round of a barrier: the parties that pass it together. A party
// leaves when its client gives up the wait or confirms the result. The table shows what happens to a party:
//
//   the party     event                                result
//   waits         its latch opens                      'passed'
//   waits         its latch is removed                 'removed'
//   waits         its barrier is complete              'passed', with its generation and index
//   waits         another party's session ends         'broken', if both parties are of one generation
//   waits         its own session ends                 The party is removed.
//   waits         its time limit passes, or it leaves  The party is removed. The others continue to wait.
//   any           its client opens a new session       The party moves to the new session.
//   has a result  it leaves, or its session ends       The party is removed.
//   has a result  anything else                        The result stays, so that its client can ask again.
//
// Laws
// - K70: the end of a wait is decided once. The party keeps its result until its client has confirmed it, or
//   its session has ended. Without this law: a latch opens, the message to one client is lost, and the latch
//   is removed. The client asks again, and learns that the latch does not exist.
// - K71: all parties that wait at a latch, or in one generation of a barrier, get the same result, in one
//   entry.

import type { PartyResult, PartyTicket } from '@latchkey/protocol'
import { breakGeneration } from './barriers.js'
import { BARRIER, partyOf } from './end-latch-and-barrier-waits.js'
import type { PartyTransaction } from './latch-and-barrier-tables.js'

/** Removes the parties. Returns the state that each party had before its removal. */
export function leaveParties(tx: PartyTransaction, list: readonly PartyTicket[]): PartyResult[] {
  return list.map(([of, name, id]) => {
    const result = partyOf(tx, of, name, id)
    const row = tx.party(of, name, id)
    if (row !== undefined) tx.deleteParty(row)
    return result
  })
}

/**
 * Moves the party to a new session of its client. While there was no leader, the client may have given up its
 * old session. Without the move, the party would be removed at the end of the old session.
 */
export function moveParty(tx: PartyTransaction, session: number, [of, name, id]: PartyTicket): PartyResult {
  const row = tx.party(of, name, id)
  if (row !== undefined) tx.putParty({ ...row, session })
  return partyOf(tx, of, name, id)
}

/**
 * Removes the parties of a session that has ended. The other parties at their barriers get the result
 * 'broken' (K72, barriers.ts).
 */
export function endParties(tx: PartyTransaction, session: number): void {
  for (const row of tx.partiesOf(session)) {
    // The removal of an earlier party of this session may have ended the wait of this party. So its row is
    // read again.
    const now = tx.party(row.of, row.name, row.id)
    if (now === undefined) continue
    tx.deleteParty(now)
    if (now.state !== 'waiting' || now.of !== BARRIER) continue
    // An administrator can end the session of a client that still runs. So the client gets the result of its
    // wait.
    tx.ended({ ...now, state: 'broken' })
    breakGeneration(tx, now.name)
  }
}

/**
 * Removes the parties whose time limit has passed. Called once for each log entry, after sessions have ended
 * and before the commands (CT3).
 */
export function expireParties(tx: PartyTransaction, now: number): void {
  for (const row of tx.dueParties(now)) tx.deleteParty(row)
}
