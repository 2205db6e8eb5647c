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
  /** What members show each other; default: the first token with the admin right. */
  memberToken?: string | undefined
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

export function memberToken(auth: AuthOptions | undefined): string | undefined {
  if (auth === undefined || auth.memberToken !== undefined) return auth?.memberToken
  const all = auth.tokens.find(
    (entry) => typeof entry === 'string' || (entry.rights ?? RIGHTS).includes('admin'),
  )
  return typeof all === 'object' ? all.token : all
}

function sameSecret(a: string, b: string): boolean {
  const [left, right] = [utf8(a), utf8(b)]
  // Of unequal lengths something of equal length is compared all the same.
  if (left.length !== right.length) return timingSafeEqual(left, left) && false
  return timingSafeEqual(left, right)
}
