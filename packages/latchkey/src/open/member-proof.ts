// Rule: how members know each other, and where nothing would keep a stranger from passing for one.
//
// Law: where clients need a token, nobody is a member without a proof. Otherwise one who has no token at all says that he is a member,
// and then reads, writes, votes and removes members. So
//   - several members, tokens for clients, and no member token (nor an authority whose certificates members show): not started
//   - one member with tokens for clients and no member token: nobody comes in as a member, and no member can be added

import type { Auth } from '../member/rights.js'

interface Proofs {
  readonly auth: Pick<Auth, 'memberToken'> | undefined
  readonly tls: { readonly ca?: unknown } | undefined
}

/** The first is proved to others, each of them is accepted. */
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

/** There is a way to tell a member from a stranger; or nobody is kept out anyhow, since clients need no token. */
const isProofAsked = ({ auth, tls }: Proofs): boolean =>
  auth === undefined || memberTokens(auth).length > 0 || tls?.ca !== undefined

const ADD =
  'give all members the same auth.memberToken (--member-token), such as 32 random bytes in hex (openssl rand -hex 32)'

const NOTHING_ELSE = 'clients need a token here, but nothing keeps a stranger from coming in as a member'

/** Why nobody is let in as a member here, and none can be added; undefined: members can come. */
export const whyNoMembers = (settings: Proofs): string | undefined =>
  isProofAsked(settings) ? undefined : `${NOTHING_ELSE}: ${ADD}, then start again`

/** `others`: it has them, or waits for them. */
export function refuseUnprovenMembers(settings: Proofs, others: boolean): void {
  if (others && !isProofAsked(settings))
    throw new TypeError(`auth.memberToken is missing: ${NOTHING_ELSE}: ${ADD}`)
}
