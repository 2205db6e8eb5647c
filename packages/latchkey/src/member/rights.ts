// Rule: finds the identity of a caller by its token or certificate, and the rights of that identity.

import { createHash, timingSafeEqual } from 'node:crypto'
import { utf8 } from '@latchkey/base'
import { tidyPrefixes } from './key-prefixes.js'

/**
 * `write` does not include `read`: a caller that reads and writes needs both. `admin` is for membership,
 * backups and transfers of leadership.
 */
export type Right = 'read' | 'write' | 'admin'
export const RIGHTS: readonly Right[] = ['read', 'write', 'admin']

/** Bearer tokens. */
export interface AuthOptions {
  /**
   * The tokens of clients. You can replace a token while the old and the new one are valid, because the list
   * may have several tokens. A text may begin with its rights: 'read+write:SECRET'. A text without a colon
   * has all rights.
   */
  tokens?: readonly (string | TokenEntry)[] | undefined
  /**
   * A JSON file with more tokens: `{ "tokens": [...], "memberToken": "..." }`. The member refuses the file if
   * other users of the machine may read it.
   */
  file?: string | undefined
  /**
   * A secret of all members, for example 32 random bytes in hex. Members prove to each other that they know
   * the secret, and never send it. A cluster of several members needs a member token. If you give a list, the
   * member proves the first token and accepts all tokens of the list. So you can replace the token member by
   * member.
   */
  memberToken?: string | readonly string[] | undefined
}

/** The tokens in force, including those of the file. */
export interface Auth {
  readonly tokens: readonly TokenEntry[]
  readonly memberToken: string | readonly string[] | undefined
}

export interface TokenEntry {
  /** The token itself. An entry has exactly one of `token`, `sha256` and `cert`. */
  token?: string | undefined
  /**
   * The name (CN) of the certificate that a client shows instead of a token. This field needs
   * `tls.clientCert: 'required'`.
   */
  cert?: string | undefined
  /**
   * The SHA-256 of the token's UTF-8 bytes, in hex, instead of a token. A reader of the list cannot use the
   * digest as a token.
   */
  sha256?: string | undefined
  /**
   * The name in logs and metrics, which never show the token. Two tokens may have one name. Default: `cert`,
   * or the place in the list.
   */
  name?: string | undefined
  /** Default: all. */
  rights?: readonly Right[] | undefined
  /**
   * The prefixes of the keys and sequences that the token may use. [] means none. The default is all keys. A
   * token with the admin right cannot have prefixes.
   */
  keys?: readonly string[] | undefined
  /**
   * The prefixes of the locks that the token may use, also in guards. [] means none. The default is all
   * locks. A token with the admin right cannot have prefixes.
   */
  locks?: readonly string[] | undefined
}

/** The identity of a caller: its rights, and the name under which it is counted and logged. */
export interface Identity {
  /** The name never contains the token, nor a part of the token. */
  readonly name: string
  readonly rights: readonly Right[]
  /**
   * The prefixes of the keys that the identity may touch, as tidyPrefixes returns them. Undefined means all
   * keys.
   */
  readonly keys: readonly Uint8Array[] | undefined
  /** The prefixes of the locks that the identity may touch, in the same form. Undefined means all locks. */
  readonly locks: readonly Uint8Array[] | undefined
}

/** The identity of every caller if no tokens are configured. */
export const ANONYMOUS: Identity = { name: 'anonymous', rights: RIGHTS, keys: undefined, locks: undefined }
/** The identity of the process in which a member is embedded. */
const EMBEDDED: Identity = { ...ANONYMOUS, name: 'embedded' }
/** The identity of the store that is embedded in that member. All members use the same name for it. */
export const embeddedIn = (member: string): Identity => ({ ...EMBEDDED, name: `embedded in ${member}` })

interface Known {
  readonly digest: Uint8Array | undefined
  readonly cert: string | undefined
  /** Everything in the entry except its token. */
  readonly says: string
  readonly who: Identity
}

/**
 * The tokens that a member accepts. Each entry has one identity object. If `before` has the same entry, its
 * object is used again.
 */
export class Identities {
  readonly #known: readonly Known[] | undefined

  /** `tokens` is undefined if no tokens are configured. The entries were checked before. */
  constructor(tokens: readonly TokenEntry[] | undefined, before?: Identities) {
    const known = before === undefined ? undefined : before.#known
    this.#known = tokens?.map((entry, at) => {
      const digest = entry.cert === undefined ? digestOf(entry) : undefined
      const says = JSON.stringify([entry.cert, entry.name, entry.rights, entry.keys, entry.locks])
      const same = known?.find((one) => one.says === says && isSame(one.digest, digest))
      return same ?? { digest, cert: entry.cert, says, who: identityOf(entry, at) }
    })
  }

  /** The identity for the name in a client's certificate. */
  ofCertificate(name: string | undefined): Identity | undefined {
    return name === undefined ? undefined : this.#known?.find(({ cert }) => cert === name)?.who
  }

  /** Whether this identity is still valid. It is no longer valid if its entry was removed or changed. */
  has(who: Identity): boolean {
    return this.#known === undefined ? who === ANONYMOUS : this.#known.some((one) => one.who === who)
  }

  /**
   * Returns the identity for a token, or undefined if the token is not accepted. All digests are compared,
   * each in constant time, so that the duration shows nothing about a token, not even its length.
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

/**
 * The digest of the token. Two entries with the same digest have one token, even if one entry has the token
 * and the other its digest.
 */
export const digestOf = ({ token, sha256: hex }: TokenEntry): Uint8Array =>
  hex === undefined ? sha256(token ?? '') : Buffer.from(hex, 'hex')

const sha256 = (text: string): Uint8Array => createHash('sha256').update(utf8(text)).digest()

const identityOf = ({ cert, name, rights, keys, locks }: TokenEntry, at: number): Identity => ({
  name: name ?? cert ?? `token ${at + 1}`,
  rights: rights ?? RIGHTS,
  keys: keys && tidyPrefixes(keys.map(utf8)),
  locks: locks && tidyPrefixes(locks.map(utf8)),
})
