// Rule: a member proves that it has the member token without sending the token. Each side draws a nonce for
// each connection. It sends an HMAC-SHA-256, with the token as the key, over the parts below. Each part
// prevents an attack that would work without it:
//
//   the token itself is not sent   a stranger listens at the address of a member that is down, and reads the
//                                  token out of the greeting
//   the receiver's nonce           a stranger records a proof and sends it again on another connection
//   the sender's nonce             a stranger chooses the whole text, and collects proofs for later use
//   the direction                  a stranger who is dialled sends the dialler's proof back as its own
//   both member ids                a dials c, but reaches a stranger; the stranger passes a's proof on to b,
//                                  and b believes that the stranger is a
//   the name of the cluster        two clusters share a token: a proof of one is valid in the other
//   the wire versions of both      an attacker between two members makes both use an old version
//   the channel, under TLS         an attacker between two members, with a certificate of its own on each
//                                  side, passes both proofs on, then reads and changes all that follows
//
// The dialling side proves first. Anybody can dial, but few can listen at a member's address, and each
// proof that a stranger gets lets the stranger try guesses of the token offline. A token of 32 random bytes
// cannot be guessed.
//
// Without TLS an attacker between two members can still pass both proofs on and change what follows. Only TLS
// prevents this.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { pack } from '@latchkey/protocol'
import type { MemberId } from '../core/types.js'

/** What both sides know when the proofs are sent. */
export interface Meeting {
  readonly cluster: string
  /** The dialling member. */
  readonly from: MemberId
  /** The member that the dialling side wants to reach. */
  readonly to: MemberId
  readonly dialled: Side
  readonly answered: Side
  /**
   * The same bytes at both ends of one TLS connection, and at no other. They are empty if members use no TLS.
   */
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
  // The encoding contains the length of each part. So two handshakes with different values never give
  // the same bytes.
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

/**
 * Without a token both sides use a fixed key that everybody knows. So each side proves only that it
 * uses no token.
 */
const keyOf = (token: string | undefined): Buffer =>
  createHash('sha256')
    .update(pack([token ?? null]))
    .digest()

/**
 * Returns the token with which the proof was made. Several tokens are valid while one is being replaced. All
 * are tried, each in constant time. Returns false if none of them fits.
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
