// Rule: how a member proves that it has the member token, without sending the token. If the token were sent,
// a stranger could listen at the address of a member that is down, and read the token out of the greeting.
//
// Each side draws a nonce for each connection. Then each side sends an HMAC-SHA-256 with the token as the
// key, over the parts in this table. The right column says which attack would be possible without the part:
//
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
// The dialling side proves first. Each proof that a stranger receives lets the stranger test guesses of the
// token offline. Anybody can dial a member, but few can listen at a member's address. A token of 32 random
// bytes cannot be guessed.
//
// Without TLS, an attacker between two members can forward both proofs and then change the messages. Only TLS
// prevents this attack.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { pack } from '@latchkey/protocol'
import type { MemberId } from '../core/types.js'

export interface ProofInputs {
  readonly cluster: string
  readonly from: MemberId
  readonly to: MemberId
  readonly dialled: Side
  readonly answered: Side
  /** Bytes that only the two ends of this TLS connection know. Empty without TLS. */
  readonly channel: Uint8Array
}

export interface Side {
  readonly nonce: Uint8Array
  readonly least: number
  readonly most: number
}

type Direction = 'the one who dials' | 'the one who was dialled'

export const PROOF_BYTES = 32

export function proofOf(token: string | undefined, direction: Direction, inputs: ProofInputs): Uint8Array {
  const { cluster, from, to, dialled, answered, channel } = inputs
  // The encoding contains the length of each part. So different values never give the same bytes.
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
 * Without a token, both sides use a fixed key that everybody knows. Each side then proves only that it uses
 * no token.
 */
const keyOf = (token: string | undefined): Buffer =>
  createHash('sha256')
    .update(pack([token ?? null]))
    .digest()

/**
 * Returns the token with which the proof was made, or false if no token fits. Several tokens are valid while
 * an operator replaces a token. The comparisons take constant time.
 */
export function provenWith(
  tokens: readonly string[],
  direction: Direction,
  inputs: ProofInputs,
  proof: Uint8Array,
): { readonly token: string | undefined } | false {
  let found: { readonly token: string | undefined } | false = false
  for (const token of tokens.length === 0 ? [undefined] : tokens) {
    const right = proof.length === PROOF_BYTES && timingSafeEqual(proofOf(token, direction, inputs), proof)
    if (right && found === false) found = { token }
  }
  return found
}
