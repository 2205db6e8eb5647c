// Rule: who somebody is by the token shown, and what that one may do.

import { timingSafeEqual } from 'node:crypto'
import { utf8 } from '@latchkey/base'

/** `write` includes nothing else: a caller that reads and writes has both. `admin` changes members, backs up, transfers. */
export type Right = 'read' | 'write' | 'admin'
export const RIGHTS: readonly Right[] = ['read', 'write', 'admin']

/** Bearer tokens. */
export interface AuthOptions {
  /** What clients may carry; several, so that one can be replaced while both work. A bare string has all rights. */
  tokens: readonly (string | TokenEntry)[]
  /**
   * What members prove to each other that they have, without showing it: 32 random bytes in hex, for one. Needed where there are several
   * members. Of a list the first is proved and each is accepted, so that it can be replaced member by member.
   */
  memberToken?: string | readonly string[] | undefined
}

export interface TokenEntry {
  token: string
  /** Stands in logs and counts, where the token must not. Default: its place in the list. */
  name?: string | undefined
  /** Default: all. */
  rights?: readonly Right[] | undefined
}

/** Who a caller is to a member: what it may do, and the name under which it is counted and logged. */
export interface Identity {
  /** Never the token, nor a part of it. */
  readonly name: string
  readonly rights: readonly Right[]
  /** Prefixes of the keys it may touch; undefined: all keys. */
  readonly keys: readonly Uint8Array[] | undefined
  /** Prefixes of the locks it may touch; undefined: all locks. */
  readonly locks: readonly Uint8Array[] | undefined
}

/** Whoever comes where no tokens are asked for. */
export const ANONYMOUS: Identity = { name: 'anonymous', rights: RIGHTS, keys: undefined, locks: undefined }
/** The process that a member is embedded in. */
export const EMBEDDED: Identity = { ...ANONYMOUS, name: 'embedded' }

/** undefined: not one of ours. Every token is compared, in constant time. */
export function identify(auth: AuthOptions | undefined, token: string | undefined): Identity | undefined {
  if (auth === undefined) return ANONYMOUS
  let found: Identity | undefined
  for (const [at, entry] of auth.tokens.entries()) {
    const known: TokenEntry = typeof entry === 'string' ? { token: entry } : entry
    if (sameSecret(known.token, token ?? '')) found = identityOf(known, at)
  }
  return found
}

const identityOf = ({ name, rights }: TokenEntry, at: number): Identity => ({
  name: name ?? `token ${at + 1}`,
  rights: rights ?? RIGHTS,
  keys: undefined,
  locks: undefined,
})

function sameSecret(a: string, b: string): boolean {
  const [left, right] = [utf8(a), utf8(b)]
  // Of unequal lengths something of equal length is compared all the same.
  if (left.length !== right.length) return timingSafeEqual(left, left) && false
  return timingSafeEqual(left, right)
}
