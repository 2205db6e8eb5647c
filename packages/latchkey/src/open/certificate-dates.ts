// Rule: the dates between which the certificates of a member are valid, and the warnings about them.
//
// Law (C46): an expired certificate, or one that is not valid yet, never replaces a certificate that is in
// force. Without this law: an operator copies last year's file over this year's and reloads. No error is
// reported, and connections stay open. After the next restart no member or client accepts that member's
// certificate.

import { X509Certificate } from 'node:crypto'
import { LatchkeyError } from '@latchkey/protocol'
import type { TlsOptions } from './tls-options.js'

/** In days: the operator is warned this long before a certificate expires. */
const WARN_DAYS = 14
const DAY_MS = 86_400_000
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

interface Certificate {
  readonly name: string
  readonly from: number
  readonly to: number
}

/**
 * Returns the reason why that certificate cannot replace the one in force, or undefined if it can replace it.
 */
export function refusalOfDates(tls: TlsOptions, now: number): LatchkeyError | undefined {
  const why = whyNoGood(tls, now)
  if (why === undefined) return undefined
  return new LatchkeyError(
    'ERR_UNAUTHORIZED',
    `${why}: no member and no client would accept it, so what was in force stays. Give one that is good now, and check the clock of this machine.`,
  )
}

/** The warnings about the certificates in force. */
export function warningOfDates(tls: TlsOptions, now: number): string | undefined {
  const why = whyNoGood(tls, now)
  if (why !== undefined)
    return `${why}: members and clients refuse it. Replace the file, which is read again without a restart.`
  const soon = chain(tls.cert, now)
    .filter(({ to }) => to - now < WARN_DAYS * DAY_MS)
    .toSorted((a, b) => a.to - b.to)[0]
  if (soon === undefined) return undefined
  const days = Math.floor((soon.to - now) / DAY_MS)
  return `${placeOf(tls, 'cert')}: the certificate ${soon.name} expires on ${dateOf(soon.to)}, in ${days} days. Replace the file before, which is read again without a restart.`
}

/**
 * When the first certificate of the member's own chain expires, in ms since 1970. Undefined if no certificate
 * can be read.
 */
export function expiryOf(tls: TlsOptions): number | undefined {
  const first = Math.min(...chain(tls.cert, 0).map(({ to }) => to))
  return Number.isFinite(first) ? first : undefined
}

/**
 * Returns the reason why the certificates cannot be used. The member's own chain must be valid as a whole. Of
 * several authorities one valid certificate is enough, because the others may be old or future ones.
 */
function whyNoGood(tls: TlsOptions, now: number): string | undefined {
  const own = chain(tls.cert, now).find((one) => !isGood(one, now))
  if (own !== undefined) return `${placeOf(tls, 'cert')}: ${fault(own, now)}`
  const authorities = tls.ca === undefined ? [] : chain(tls.ca, now)
  const [first] = authorities
  return first === undefined || authorities.some((one) => isGood(one, now))
    ? undefined
    : `${placeOf(tls, 'ca')}: ${fault(first, now)}`
}

const isGood = ({ from, to }: Certificate, now: number): boolean => from <= now && now <= to

const fault = ({ name, from, to }: Certificate, now: number): string =>
  now > to
    ? `the certificate ${name} has expired on ${dateOf(to)}`
    : `the certificate ${name} is not valid before ${dateOf(from)}`

const dateOf = (ms: number): string => new Date(ms).toISOString()

const placeOf = ({ files }: TlsOptions, part: 'cert' | 'ca'): string => {
  const path = files?.[part]
  return path === undefined ? `tls.${part}` : `tls.${part} (${path})`
}

/**
 * Reads the dates. A certificate that cannot be parsed counts as valid from `now` on, without an end date,
 * because other code refuses such a certificate with an error of its own.
 */
function chain(pem: string | Uint8Array, now: number): Certificate[] {
  const text = typeof pem === 'string' ? pem : Buffer.from(pem).toString('latin1')
  return (text.match(PEM) ?? []).map((one) => {
    try {
      const { subject, validFrom, validTo } = new X509Certificate(one)
      return { name: nameOf(subject), from: Date.parse(validFrom), to: Date.parse(validTo) }
    } catch {
      return { name: 'that cannot be read', from: now, to: Number.POSITIVE_INFINITY }
    }
  })
}

/** Returns the common name, or the whole subject on one line, cut at a limit. */
const nameOf = (subject: string | undefined): string => {
  const said = subject ?? ''
  const name = /^CN=(.+)$/m.exec(said)?.[1] ?? said.replaceAll('\n', ', ')
  return JSON.stringify(name.slice(0, 100))
}
