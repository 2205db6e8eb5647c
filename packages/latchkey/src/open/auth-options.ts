// Door: checks the tokens and certificates in the option `auth` and in the tokens file. The member uses these
// tokens and certificates only if all of them are correct.
//
// Laws:
// - Each token occurs once in the list. A token and its SHA-256 are the same token. Without this law: a token
//   occurs once with all rights and once with few, and nobody knows which rights the token has.
// - No error message contains a token or a piece of the file, because error messages are logged.

import { CAPS, unknownName } from '@latchkey/protocol'
import {
  type Auth,
  type AuthOptions,
  digestOf,
  RIGHTS,
  type TokenEntry,
} from '../member/identity-and-rights.js'
import { checkMemberToken } from './choose-member-proof.js'
import { parseToken } from './parse-token-with-rights.js'
import { readTokensFile } from './tokens-file.js'

interface Placed {
  readonly given: unknown
  readonly place: string
}

export function checkAuth(auth: AuthOptions | undefined): Auth | undefined {
  if (auth === undefined) return undefined
  const own = listOf(auth, 'auth', ['tokens', 'memberToken', 'file'])
  const { file } = auth
  if (file !== undefined && (typeof file !== 'string' || file === ''))
    throw new TypeError('auth.file must be the path of a tokens file')
  const written = file === undefined ? undefined : readTokensFile(file)
  const more = written === undefined ? [] : listOf(written, `${file}: `, ['tokens', 'memberToken'])
  const placed = [...own, ...more]
  if (placed.length === 0)
    throw new TypeError(
      'auth.tokens must be a list of at least one token, or auth.file must name a file with tokens',
    )
  if (placed.length > CAPS.tokens)
    throw new TypeError(`auth: ${placed.length} tokens; at most ${CAPS.tokens}`)
  const tokens = placed.map(checkEntry)
  refuseTwice(tokens, placed)
  return { tokens, memberToken: memberTokenOf(auth.memberToken, written?.memberToken, file) }
}

function listOf(given: unknown, place: string, names: readonly string[]): Placed[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TypeError(`${place} must be an object such as { tokens: [...] }`)
  const inside = place.endsWith(' ') ? place : `${place}.`
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) throw unknownName('field', name, place.trim(), names)
  }
  const { tokens } = given as { tokens?: unknown }
  if (tokens === undefined) return []
  if (!Array.isArray(tokens)) throw new TypeError(`${inside}tokens must be a list`)
  return tokens.map((one: unknown, at) => ({ given: one, place: `${inside}tokens[${at}]` }))
}

function memberTokenOf(own: unknown, written: unknown, file: string | undefined): Auth['memberToken'] {
  if (own !== undefined && written !== undefined)
    throw new TypeError(`auth.memberToken is also in ${file}: remove one of the two`)
  const token = own ?? written
  checkMemberToken(token)
  return token as Auth['memberToken']
}

const FIELDS: readonly string[] = ['token', 'sha256', 'cert', 'name', 'rights', 'keys', 'locks']
/** The SHA-256 of the empty text, in hex. No caller may have an empty token. */
const EMPTY = Buffer.from(digestOf({ token: '' })).toString('hex')

function checkEntry({ given, place }: Placed): TokenEntry {
  const entry = typeof given === 'string' ? parseToken(given, place) : given
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw new TypeError(`${place} must be a text, or an object such as { token, rights }`)
  for (const name of Object.keys(entry)) {
    if (!FIELDS.includes(name)) throw unknownName('field', name, place, FIELDS)
  }
  const { token, sha256, cert, name, rights, keys, locks } = entry as Record<string, unknown>
  if ([token, sha256, cert].filter((one) => one !== undefined).length !== 1)
    throw new TypeError(`${place} must have one of token, sha256 and cert`)
  if (cert !== undefined && !isName(cert)) throw new TypeError(`${place}.cert must be ${NAME}`)
  if (token !== undefined && (typeof token !== 'string' || token === ''))
    throw new TypeError(`${place}: a token must be a text that is not empty`)
  if (rights === undefined && typeof token === 'string' && token.includes(':'))
    throw new TypeError(
      `${place}: a token with a colon in it needs its rights named: rights: ['read', 'write', 'admin'] for all of them. Or was 'read:' meant as a right?`,
    )
  if (sha256 !== undefined && !isDigest(sha256))
    throw new TypeError(`${place}.sha256 must be the SHA-256 of a token that is not empty: 64 hex digits`)
  if (name !== undefined && !isName(name)) throw new TypeError(`${place}.name must be ${NAME}`)
  checkRights(rights, place)
  checkPrefixes(keys, `${place}.keys`)
  checkPrefixes(locks, `${place}.locks`)
  const isAdmin = rights === undefined || (rights as readonly unknown[]).includes('admin')
  if (isAdmin && (keys !== undefined || locks !== undefined))
    throw new TypeError(
      `${place}: keys and locks cannot limit a token with the right 'admin', which can read everything in a backup: set rights: ['read', 'write'], or remove keys and locks`,
    )
  return entry
}

const NAME =
  '1 to 64 letters, digits, dots, dashes, underscores, blanks or @, beginning with a letter or digit'
const isName = (given: unknown): boolean =>
  typeof given === 'string' && /^[A-Za-z0-9][A-Za-z0-9._@ -]{0,63}$/.test(given)

const isDigest = (given: unknown): boolean =>
  typeof given === 'string' && /^[0-9a-fA-F]{64}$/.test(given) && given.toLowerCase() !== EMPTY

function checkRights(rights: unknown, place: string): void {
  if (rights === undefined) return
  const isRight = (one: unknown) => (RIGHTS as readonly unknown[]).includes(one)
  if (Array.isArray(rights) && rights.length > 0 && rights.every(isRight)) return
  throw new TypeError(`${place}.rights must be a list of 'read', 'write' and 'admin', one at least`)
}

function checkPrefixes(given: unknown, place: string): void {
  if (given === undefined) return
  const isPrefix = (one: unknown) =>
    typeof one === 'string' && one !== '' && Buffer.byteLength(one) <= CAPS.keyBytes
  if (Array.isArray(given) && given.length <= CAPS.prefixes && given.every(isPrefix)) return
  throw new TypeError(
    `${place} must be a list of at most ${CAPS.prefixes} prefixes, each 1 to ${CAPS.keyBytes} bytes; leave it out to allow all`,
  )
}

function refuseTwice(tokens: readonly TokenEntry[], placed: readonly Placed[]): void {
  const seen = new Map<string, string>()
  for (const [at, entry] of tokens.entries()) {
    const digest =
      entry.cert === undefined ? Buffer.from(digestOf(entry)).toString('hex') : `CN ${entry.cert}`
    const place = placed[at]?.place ?? ''
    const before = seen.get(digest)
    if (before !== undefined)
      throw new TypeError(
        `${before} and ${place} are the same token or certificate name: list it once, with all rights that it needs`,
      )
    seen.set(digest, place)
  }
}

interface Certified {
  readonly auth: Auth | undefined
  readonly tls: { readonly clientCert?: unknown; readonly memberName?: string | undefined } | undefined
}

/**
 * Law: if clients and members have certificates of the same authority, the option `auth.memberToken` or
 * `tls.memberName` must be set. Without this law: each client could connect as a member.
 */
export function checkClientCertificates({ auth, tls }: Certified): void {
  const isRequired = tls?.clientCert === 'required'
  for (const { cert } of auth?.tokens ?? []) {
    if (isRequired === (cert !== undefined)) continue
    if (isRequired)
      throw new TypeError(
        "tls.clientCert: clients prove their identity with certificates, and tokens are not used: give each entry of auth.tokens a 'cert' instead",
      )
    throw new TypeError("auth.tokens: 'cert' needs tls.clientCert: 'required' (--client-cert required)")
  }
  if (!isRequired) return
  if (auth === undefined)
    throw new TypeError(
      "tls.clientCert needs auth.tokens: entries such as { cert: 'billing', rights: ['read'] }",
    )
  if (auth.memberToken === undefined && tls?.memberName === undefined)
    throw new TypeError(
      'tls.clientCert: clients have certificates of the same authority as members: give auth.memberToken or tls.memberName, so that no client can connect as a member',
    )
}
