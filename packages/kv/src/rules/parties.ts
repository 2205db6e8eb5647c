// Rule: parties, which wait at a latch or a barrier: how their waits end (docs/latches.md).
//
//   the party         what happens                        then it
//   waits             its latch opens                     has passed, and is told
//   waits             its latch is removed                hears 'removed'
//   waits             its barrier is complete             has passed with its generation and index
//   waits             another's session ends (barrier)    hears 'broken'
//   waits             its own session ends                is taken out; at a barrier all hear 'broken'
//   waits             its wait is over, or it leaves      is taken out; the others wait on
//   any               its client has another session       belongs to that one
//   waits no more     it leaves, or its session ends      is forgotten
//   waits no more     anything else                       keeps its end, which it can ask for
//
// Laws
// - K70: the end of a wait is decided once, and the party keeps it until it has said that it knows it, or its
//   session is over. Without this law: a latch opens, the push to one client is lost, the latch is removed,
//   and that client hears that there is no latch, while all others heard that it opened.
// - K71: all who wait at a latch or in a generation get the same end, in one entry.

import type { PartyResult, PartyTicket } from '@latchkey/protocol'
import { breakGeneration } from './barriers.js'
import { BARRIER, partyOf } from './party-ends.js'
import type { PartyTransaction } from './party-transaction.js'

/** Each leaves, in the order of the list. The answer says how each stood before. */
export function leaveParties(tx: PartyTransaction, list: readonly PartyTicket[]): PartyResult[] {
  return list.map(([of, name, id]) => {
    const result = partyOf(tx, of, name, id)
    const row = tx.party(of, name, id)
    if (row !== undefined) tx.deleteParty(row)
    return result
  })
}

/**
 * The client of the party has another session now. Without this: the members had no leader for a minute, the
 * client gave up its session and opened another one, and the end of the wait is told to the old one.
 */
export function moveParty(tx: PartyTransaction, session: number, [of, name, id]: PartyTicket): PartyResult {
  const row = tx.party(of, name, id)
  if (row !== undefined) tx.putParty({ ...row, session })
  return partyOf(tx, of, name, id)
}

/**
 * A session has ended (K72, barriers.ts): its parties are taken out, and the rest of each barrier hear it.
 */
export function endParties(tx: PartyTransaction, session: number): void {
  for (const row of tx.partiesOf(session)) {
    // A generation that a party of this session has broken just before is over for the others of it too.
    const now = tx.party(row.of, row.name, row.id)
    if (now === undefined) continue
    tx.deleteParty(now)
    if (now.state !== 'waiting' || now.of !== BARRIER) continue
    // An administrator may have ended the session of a client that is still there.
    tx.ended({ ...now, state: 'broken' })
    breakGeneration(tx, now.name)
  }
}

/** Runs at each entry, before its commands, after the sessions that are over have ended (CT3). */
export function expireParties(tx: PartyTransaction, now: number): void {
  for (const row of tx.dueParties(now)) tx.deleteParty(row)
}
