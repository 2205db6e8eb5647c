// Rule: the dates between which the certificates of a member are valid, and the warnings about these dates.
//
// Law (C46): a certificate that is expired, or not valid yet, never replaces the certificate in use. Without
// this law: an operator copies last year's file over this year's and reloads. Nothing fails at first, because
// open connections stay open. After the next restart, no member and no client accepts the certificate.

import { X509Certificate } from 'node:crypto'
import { LatchkeyError } from '@latchkey/protocol'
import type { TlsOptions } from './tls-options.js'

/** In days. The member warns about a certificate that expires within this time. */
const WARN_DAYS = 14
const DAY_MS = 86_400_000
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

interface Certificate {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Returns undefined if the certificates in `tls` may replace the certificates in use. */
export function refusalOfDates(tls: TlsOptions, now: number): LatchkeyError | undefined {
  const why = whyNoGood(tls, now)
  if (why === undefined) return undefined
  return new LatchkeyError(
    'ERR_UNAUTHORIZED',
    `${why}: no member and no client would accept it, so the old certificates stay in use. Give a certificate that is valid now, and check the clock of this machine.`,
  )
}

export function warningOfDates(tls: TlsOptions, now: number): string | undefined {
  const why = whyNoGood(tls, now)
  if (why !== undefined)
    return `${why}: members and clients refuse it. Replace the file; the member reads it again without a restart.`
  const soon = chain(tls.cert, now)
    .filter(({ to }) => to - now < WARN_DAYS * DAY_MS)
    .toSorted((a, b) => a.to - b.to)[0]
  if (soon === undefined) return undefined
  const days = Math.floor((soon.to - now) / DAY_MS)
  return `${placeOf(tls, 'cert')}: the certificate ${soon.name} expires on ${dateOf(soon.to)}, in ${days} days. Replace the file before that date; the member reads it again without a restart.`
}

/**
 * The earliest expiry of a certificate in `cert`, in ms since 1970. Undefined if no certificate can be read.
 */
export function expiryOf(tls: TlsOptions): number | undefined {
  const first = Math.min(...chain(tls.cert, 0).map(({ to }) => to))
  return Number.isFinite(first) ? first : undefined
}

/**
 * Each certificate in `cert` must be valid now. In `ca`, one valid certificate is enough, because an operator
 * may also list an old and a future authority.
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
 * An unreadable certificate counts as valid for ever here. Other code refuses such a certificate with an
 * error of its own.
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

/** The common name (CN), or the whole subject in one line. */
const nameOf = (subject: string | undefined): string => {
  const said = subject ?? ''
  const name = /^CN=(.+)$/m.exec(said)?.[1] ?? said.replaceAll('\n', ', ')
  return JSON.stringify(name.slice(0, 100))
}
