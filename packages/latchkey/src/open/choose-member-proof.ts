// Rule: decides how members prove to each other that they are members. This file also refuses a start after
// which a stranger could connect as a member.
//
// Law: if clients need a token, a process that connects as a member must prove that it is a member. Without
// this law: a stranger without a token connects as a member, and then reads, writes, votes and removes
// members. So:
//   - With several members and tokens for clients, but no member token and no `tls.ca`, a member does not
//     start.
//   - With one member and tokens for clients, but no member token and no `tls.ca`, no process may connect as
//     a member. So no member can be added.

import type { Auth } from '../member/identity-and-rights.js'

interface Proofs {
  readonly auth: Pick<Auth, 'memberToken'> | undefined
  readonly tls: { readonly ca?: unknown } | undefined
}

/**
 * This member proves that it knows the first token. From another member, each token of the list is accepted.
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
 * If clients need no token, strangers can read and write anyway, so a proof of members would protect nothing.
 */
const isSafeFromStrangers = ({ auth, tls }: Proofs): boolean =>
  auth === undefined || memberTokens(auth).length > 0 || tls?.ca !== undefined

const ADD =
  'give all members the same auth.memberToken (--member-token), such as 32 random bytes in hex (openssl rand -hex 32)'

const NOTHING_ELSE = 'clients need a token here, but nothing prevents a stranger from connecting as a member'

/** Undefined if members may connect. */
export const whyNoMembers = (settings: Proofs): string | undefined =>
  isSafeFromStrangers(settings) ? undefined : `${NOTHING_ELSE}: ${ADD}, then start again`

/** `others` is true if the cluster has other members, or if this member waits to be added to a cluster. */
export function refuseUnprovenMembers(settings: Proofs, others: boolean): void {
  if (others && !isSafeFromStrangers(settings))
    throw new TypeError(`auth.memberToken is missing: ${NOTHING_ELSE}: ${ADD}`)
}
