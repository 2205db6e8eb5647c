// Rule: decides how members prove that they are members. This file also decides when a member must not start,
// because a stranger could connect as a member.
//
// Law: if clients need a token, a process that connects as a member must prove that it is a member. Without
// this law a stranger without any token connects as a member, and then reads, writes, votes and removes
// members. So
//   - several members, tokens for clients, and neither a member token nor an authority whose certificates
//     members show: the member does not start;
//   - one member with tokens for clients and no member token: no process may connect as a member, and no
//     member can be added.

import type { Auth } from '../member/rights.js'

interface Proofs {
  readonly auth: Pick<Auth, 'memberToken'> | undefined
  readonly tls: { readonly ca?: unknown } | undefined
}

/**
 * All member tokens. The member proves to others that it knows the first token. From others the member
 * accepts a proof of any of the tokens.
 */
export function memberTokens(auth: Pick<Auth, 'memberToken'> | undefined): readonly string[] {
  const given = auth?.memberToken
  if (given === undefined) return []
  return typeof given === 'string' ? [given] : given
}

const MOST_TOKENS = 8

export function checkMemberToken(given: unknown): void {
  if (given === undefined) return
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  const isToken = (token: unknown) => typeof token === 'string' && token !== ''
  if (list.length === 0 || list.length > MOST_TOKENS || !list.every(isToken))
    throw new TypeError(
      `auth.memberToken must be a text that is not empty, or a list of 1 to ${MOST_TOKENS} of them`,
    )
}

/**
 * Whether members prove their identity. Also true if clients need no token, because then strangers may
 * connect anyway.
 */
const isProofAsked = ({ auth, tls }: Proofs): boolean =>
  auth === undefined || memberTokens(auth).length > 0 || tls?.ca !== undefined

const ADD =
  'give all members the same auth.memberToken (--member-token), such as 32 random bytes in hex (openssl rand -hex 32)'

const NOTHING_ELSE = 'clients need a token here, but nothing keeps a stranger from coming in as a member'

/**
 * Returns why no process may connect as a member, so that no member can be added. Undefined if members may
 * connect.
 */
export const whyNoMembers = (settings: Proofs): string | undefined =>
  isProofAsked(settings) ? undefined : `${NOTHING_ELSE}: ${ADD}, then start again`

/**
 * Throws a TypeError if a stranger could connect as a member. `others` is true if the cluster has other
 * members, or if this member waits to be added.
 */
export function refuseUnprovenMembers(settings: Proofs, others: boolean): void {
  if (others && !isProofAsked(settings))
    throw new TypeError(`auth.memberToken is missing: ${NOTHING_ELSE}: ${ADD}`)
}
