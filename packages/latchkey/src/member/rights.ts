// Rule: who somebody is by the token shown, and what that one may do.

import { createHash, timingSafeEqual } from 'node:crypto'
import { utf8 } from '@latchkey/base'
import { tidyPrefixes } from './prefixes.js'

/** `write` includes nothing else: a caller that reads and writes has both. `admin` changes members, backs up, transfers. */
export type Right = 'read' | 'write' | 'admin'
export const RIGHTS: readonly Right[] = ['read', 'write', 'admin']

/** Bearer tokens. */
export interface AuthOptions {
  /**
   * What clients may carry; several, so that one can be replaced while both work. A text may name
   * its rights in front: 'read+write:SECRET'. One without a colon has all rights.
   */
  tokens?: readonly (string | TokenEntry)[] | undefined
  /**
   * A file with more of them, as JSON: `{ "tokens": [...], "memberToken": "..." }`. Closed to other users of the machine, or it is
   * refused.
   */
  file?: string | undefined
  /**
   * What members prove to each other that they have, without showing it: 32 random bytes in hex, for one. Needed where there are several
   * members. Of a list the first is proved and each is accepted, so that it can be replaced member by member.
   */
  memberToken?: string | readonly string[] | undefined
}

/** What is in force: the file has been read. */
export interface Auth {
  readonly tokens: readonly TokenEntry[]
  readonly memberToken: string | readonly string[] | undefined
}

export interface TokenEntry {
  /** The token itself, or `sha256` or `cert` in its place. */
  token?: string | undefined
  /** In place of a token: the name (CN) of the certificate that a client shows. With `tls.clientCert: 'required'` only. */
  cert?: string | undefined
  /** SHA-256 of the token's UTF-8, in hex: so that who reads the list cannot use it. */
  sha256?: string | undefined
  /** Stands in logs and counts, where the token must not. Two tokens may have one name. Default: `cert`, or the place in the list. */
  name?: string | undefined
  /** Default: all. */
  rights?: readonly Right[] | undefined
  /** Prefixes of the keys that it may touch, sequences too; [] for none. Default: all keys. Not with the admin right. */
  keys?: readonly string[] | undefined
  /** Prefixes of the locks that it may touch, also in guards; [] for none. Default: all locks. Not with the admin right. */
  locks?: readonly string[] | undefined
}

/** Who a caller is to a member: what it may do, and the name under which it is counted and logged. */
export interface Identity {
  /** Never the token, nor a part of it. */
  readonly name: string
  readonly rights: readonly Right[]
  /** Prefixes of the keys it may touch, as tidyPrefixes leaves them; undefined: all keys. */
  readonly keys: readonly Uint8Array[] | undefined
  /** Prefixes of the locks it may touch, likewise; undefined: all locks. */
  readonly locks: readonly Uint8Array[] | undefined
}

/** Whoever comes where no tokens are asked for. */
export const ANONYMOUS: Identity = { name: 'anonymous', rights: RIGHTS, keys: undefined, locks: undefined }
/** The process that a member is embedded in. */
const EMBEDDED: Identity = { ...ANONYMOUS, name: 'embedded' }
/** The same at whichever member it asks. */
export const embeddedIn = (member: string): Identity => ({ ...EMBEDDED, name: `embedded in ${member}` })

interface Known {
  readonly digest: Uint8Array | undefined
  readonly cert: string | undefined
  /** All that the entry says but its token. */
  readonly says: string
  readonly who: Identity
}

/** Whose tokens a member knows. One identity an entry, always the same object; also where `before` knew the same entry already. */
export class Identities {
  readonly #known: readonly Known[] | undefined

  /** undefined: none are asked for. They have been checked. */
  constructor(tokens: readonly TokenEntry[] | undefined, before?: Identities) {
    const known = before === undefined ? undefined : before.#known
    this.#known = tokens?.map((entry, at) => {
      const digest = entry.cert === undefined ? digestOf(entry) : undefined
      const says = JSON.stringify([entry.cert, entry.name, entry.rights, entry.keys, entry.locks])
      const same = known?.find((one) => one.says === says && isSame(one.digest, digest))
      return same ?? { digest, cert: entry.cert, says, who: identityOf(entry, at) }
    })
  }

  /** By the name in the certificate that was shown. */
  ofCertificate(name: string | undefined): Identity | undefined {
    return name === undefined ? undefined : this.#known?.find(({ cert }) => cert === name)?.who
  }

  /** Whether it is still somebody: an entry that is gone, or says something else, is not. */
  has(who: Identity): boolean {
    return this.#known === undefined ? who === ANONYMOUS : this.#known.some((one) => one.who === who)
  }

  /**
   * undefined: not one of ours. Digests are compared, each of them and in constant time: how long it takes tells nothing of a token,
   * not even its length.
   */
  of(token: string | undefined): Identity | undefined {
    if (this.#known === undefined) return ANONYMOUS
    const shown = sha256(token ?? '')
    let found: Identity | undefined
    for (const { digest, who } of this.#known) if (isSame(digest, shown)) found = who
    return token === undefined ? undefined : found
  }
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : timingSafeEqual(a, b)

/** By which two entries for one token are known, also where one has the token and the other its digest. */
export const digestOf = ({ token, sha256: hex }: TokenEntry): Uint8Array =>
  hex === undefined ? sha256(token ?? '') : Buffer.from(hex, 'hex')

const sha256 = (text: string): Uint8Array => createHash('sha256').update(utf8(text)).digest()

const identityOf = ({ cert, name, rights, keys, locks }: TokenEntry, at: number): Identity => ({
  name: name ?? cert ?? `token ${at + 1}`,
  rights: rights ?? RIGHTS,
  keys: keys && tidyPrefixes(keys.map(utf8)),
  locks: locks && tidyPrefixes(locks.map(utf8)),
})
