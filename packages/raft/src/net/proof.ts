// Rule: a member proves that it has the member token, and never shows it. Each side draws a nonce for each connection, and says an
// HMAC-SHA-256, with the token as its key, over what follows here. Without each of these the story beside it goes wrong.
//
//   the token itself never travels   a stranger who listens at the address of a member that is down would read it out of the greeting
//   the nonce of the side that hears a stranger records a proof and shows it again on another connection
//   the nonce of the side that says  a stranger who chooses all of the text collects proofs for later, or reads out of equal ones that
//                                    nothing has changed
//   the direction                    a stranger who is dialled sends the proof straight back, and it passes for the proof of the other
//   both member ids                  a stranger at the address of c, dialled by a, hands the proof of a on to b, and comes in there as a
//   the name of the cluster          two clusters with one token: a proof of a in one of them is a proof of a in the other
//   the wire versions of both        someone between the two makes both believe that the other speaks an old version alone
//   the channel, under TLS           someone between the two, with a certificate of his own on each side, hands both proofs on and
//                                    then reads and changes all that follows
//
// The one who dials proves first: anybody can dial, but few can listen at a member's address, and each proof that a stranger gets
// lets him try guesses of the token at home. A token of 32 random bytes is beyond guessing.
//
// Without TLS one who sits between two members can still hand both proofs on and change what follows: that is what TLS is for.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { pack } from '@latchkey/protocol'
import type { MemberId } from '../core/types.js'

/** What both sides know when the proofs are said. */
export interface Meeting {
  readonly cluster: string
  /** Who dials. */
  readonly from: MemberId
  /** Whom it believes to have dialled. */
  readonly to: MemberId
  readonly dialled: Side
  readonly answered: Side
  /** The same bytes at both ends of one TLS connection, and at no other; empty where members use no TLS. */
  readonly channel: Uint8Array
}

export interface Side {
  readonly nonce: Uint8Array
  readonly least: number
  readonly most: number
}

export type Direction = 'the one who dials' | 'the one who was dialled'

export const PROOF_BYTES = 32

export function proofOf(token: string | undefined, direction: Direction, meeting: Meeting): Uint8Array {
  const { cluster, from, to, dialled, answered, channel } = meeting
  // The codec writes the length of each part: no two meetings give the same bytes.
  const text = pack([
    'latchkey member proof 1',
    direction,
    cluster,
    from,
    to,
    [dialled.nonce, dialled.least, dialled.most],
    [answered.nonce, answered.least, answered.most],
    channel,
  ])
  return createHmac('sha256', keyOf(token)).update(text).digest()
}

/** No token is a key of its own, that everybody has: the two sides then agree that they ask for none. */
const keyOf = (token: string | undefined): Buffer =>
  createHash('sha256')
    .update(pack([token ?? null]))
    .digest()

/**
 * Which of the tokens the proof was made with: several are tried while a token is being replaced. All are tried, and each is compared
 * in constant time. False: none.
 */
export function provenWith(
  tokens: readonly string[],
  direction: Direction,
  meeting: Meeting,
  proof: Uint8Array,
): { readonly token: string | undefined } | false {
  let found: { readonly token: string | undefined } | false = false
  for (const token of tokens.length === 0 ? [undefined] : tokens) {
    const right = proof.length === PROOF_BYTES && timingSafeEqual(proofOf(token, direction, meeting), proof)
    if (right && found === false) found = { token }
  }
  return found
}
