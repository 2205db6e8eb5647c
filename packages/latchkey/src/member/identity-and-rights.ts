// Rule: finds the identity of a caller by the caller's token or certificate, and the rights of that identity.

import { createHash, timingSafeEqual } from 'node:crypto'
import { utf8 } from '@latchkey/base'
import { tidyPrefixes } from './key-prefixes.js'

/**
 * The rights of a token. `write` does not include `read`, so a caller that reads and writes needs `read` and
 * `write`. `admin` allows changes of membership, backups and transfers of leadership.
 */
export type Right = 'read' | 'write' | 'admin'
export const RIGHTS: readonly Right[] = ['read', 'write', 'admin']

/** The option `auth` of open(): which tokens and certificates the member accepts. */
export interface AuthOptions {
  /**
   * The tokens of clients. To replace a token, add the new token to the list, and later remove the old token.
   * A text may begin with its rights: 'read+write:SECRET'. A text without a colon has all rights.
   */
  tokens?: readonly (string | TokenEntry)[] | undefined
  /**
   * A JSON file with more tokens: `{ "tokens": [...], "memberToken": "..." }`. The member refuses the file if
   * other users of the machine may read it.
   */
  file?: string | undefined
  /**
   * A secret of all members, for example 32 random bytes in hex. Two members prove to each other that they
   * know the secret, and never send the secret. A cluster of several members needs a member token, or the
   * option `tls.ca`. If you give a list, the member proves to others that it knows the first token. From
   * others, the member accepts each token of the list. So you can change the token member by member, without
   * a stop of the cluster.
   */
  memberToken?: string | readonly string[] | undefined
}

/** Includes the tokens of the file. */
export interface Auth {
  readonly tokens: readonly TokenEntry[]
  readonly memberToken: string | readonly string[] | undefined
}

export interface TokenEntry {
  /** The secret that a client sends. An entry has exactly one of `token`, `sha256` and `cert`. */
  token?: string | undefined
  /**
   * The name (CN) in the TLS certificate of a client. The client then needs no token. This field needs
   * `tls.clientCert: 'required'`.
   */
  cert?: string | undefined
  /**
   * The SHA-256 of the token's UTF-8 bytes, in hex, in place of the token. A stranger who reads this
   * configuration cannot send the digest as a token.
   */
  sha256?: string | undefined
  /**
   * The name of the caller in logs and metrics, which never show the token. Two tokens may have the same
   * name. The default is `cert`, or the position of the entry in the list.
   */
  name?: string | undefined
  /** The rights of the token. Default: all rights. */
  rights?: readonly Right[] | undefined
  /**
   * The prefixes of the keys and sequences that the token may use. An empty list means no keys, and undefined
   * means all keys. A token with the admin right cannot have prefixes.
   */
  keys?: readonly string[] | undefined
  /**
   * The prefixes of the locks that the token may use. If a write is guarded by a lock, the token needs the
   * prefix of this lock too. An empty list means no locks, and undefined means all locks. A token with the
   * admin right cannot have prefixes.
   */
  locks?: readonly string[] | undefined
}

export interface Identity {
  /** The name never contains any part of the token. */
  readonly name: string
  readonly rights: readonly Right[]
  /**
   * The prefixes of the allowed keys. Undefined means all keys. tidyPrefixes has sorted the list and removed
   * prefixes that another prefix covers.
   */
  readonly keys: readonly Uint8Array[] | undefined
  /** Like `keys`, for locks. */
  readonly locks: readonly Uint8Array[] | undefined
}

export const ANONYMOUS: Identity = { name: 'anonymous', rights: RIGHTS, keys: undefined, locks: undefined }
const EMBEDDED: Identity = { ...ANONYMOUS, name: 'embedded' }
/** All members use the same name for the store that is embedded in `member`. */
export const embeddedIn = (member: string): Identity => ({ ...EMBEDDED, name: `embedded in ${member}` })

interface Known {
  readonly digest: Uint8Array | undefined
  readonly cert: string | undefined
  /** All fields of the entry except its token, to see whether the entry has changed. */
  readonly says: string
  readonly who: Identity
}

/**
 * `before` has the entries of the previous reading. An unchanged entry keeps its identity object from
 * `before`, so open connections can compare identities with `===`.
 */
export class Identities {
  readonly #known: readonly Known[] | undefined

  /** Undefined `tokens` means that no tokens are configured. The caller has already checked the entries. */
  constructor(tokens: readonly TokenEntry[] | undefined, before?: Identities) {
    const known = before === undefined ? undefined : before.#known
    this.#known = tokens?.map((entry, at) => {
      const digest = entry.cert === undefined ? digestOf(entry) : undefined
      const says = JSON.stringify([entry.cert, entry.name, entry.rights, entry.keys, entry.locks])
      const same = known?.find((one) => one.says === says && isSame(one.digest, digest))
      return same ?? { digest, cert: entry.cert, says, who: identityOf(entry, at) }
    })
  }

  ofCertificate(name: string | undefined): Identity | undefined {
    return name === undefined ? undefined : this.#known?.find(({ cert }) => cert === name)?.who
  }

  /** False if the entry was removed or changed after the client connected. */
  has(who: Identity): boolean {
    return this.#known === undefined ? who === ANONYMOUS : this.#known.some((one) => one.who === who)
  }

  /**
   * Compares all digests, each in constant time. So an attacker learns nothing about a token from the
   * duration.
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
 * The same token gives the same digest, whether the entry has `token` or `sha256`. So the check of the list
 * finds a token that two entries contain.
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
