// Rule: who may do what, and what a token stands for.

import { timingSafeEqual } from 'node:crypto'
import { utf8 } from '@latchkey/base'

/** `write` includes nothing else: a caller that reads and writes has both. `admin` changes members, backs up, transfers. */
export type Right = 'read' | 'write' | 'admin'
export const RIGHTS: readonly Right[] = ['read', 'write', 'admin']

/** Bearer tokens. */
export interface AuthOptions {
  /** What clients may carry; several, so that one can be replaced while both work. A bare string has all rights. */
  tokens: readonly (string | { token: string; rights?: readonly Right[] | undefined })[]
  /**
   * What members prove to each other that they have, without showing it: 32 random bytes in hex, for one. Needed where there are several
   * members. Of a list the first is proved and each is accepted, so that it can be replaced member by member.
   */
  memberToken?: string | readonly string[] | undefined
}

/** undefined: not one of ours. Every token is compared, in constant time. */
export function rightsOf(
  auth: AuthOptions | undefined,
  token: string | undefined,
): readonly Right[] | undefined {
  if (auth === undefined) return RIGHTS
  let rights: readonly Right[] | undefined
  for (const entry of auth.tokens) {
    const known = typeof entry === 'string' ? { token: entry, rights: undefined } : entry
    if (sameSecret(known.token, token ?? '')) rights = known.rights ?? RIGHTS
  }
  return rights
}

function sameSecret(a: string, b: string): boolean {
  const [left, right] = [utf8(a), utf8(b)]
  // Of unequal lengths something of equal length is compared all the same.
  if (left.length !== right.length) return timingSafeEqual(left, left) && false
  return timingSafeEqual(left, right)
}
