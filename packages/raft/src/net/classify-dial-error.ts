// Rule: decides from the error of an outgoing socket whether the peer is only down, or refuses this member
// for a lasting reason.

import type { Refusal } from './handshake-frames.js'

/**
 * Returns the reason if another attempt will fail in the same way: a bad certificate, an HTTP answer instead
 * of an upgrade, or an invalid address. Returns undefined if the peer may be down, slow or starting.
 */
export function refusalIn(error: unknown): (Refusal & { readonly by: 'us' | 'them' }) | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const answer = /^Unexpected server response: (\d+)$/.exec(error.message)?.[1]
  if (answer === '401')
    return refusal(
      'them',
      'ERR_UNAUTHORIZED',
      'it answers 401: it does not accept the certificate of this member, or has no member token and lets no member in',
    )
  if (answer !== undefined && answer !== '503')
    return refusal('them', 'ERR_PROTOCOL', `it answers ${answer}: is that the address of a member?`)
  if (/CERT|^UNABLE_TO_|^ERR_TLS_/.test(code))
    return refusal('us', 'ERR_UNAUTHORIZED', `its certificate is not accepted: ${code}`)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return refusal('us', 'ERR_PROTOCOL', `no TLS with it: ${code}`)
  if (code === 'ENOTFOUND') return refusal('us', 'ERR_PROTOCOL', 'its name is not known: ENOTFOUND')
  return undefined
}

const refusal = (by: 'us' | 'them', code: Refusal['code'], reason: string) =>
  ({ by, code, reason, trusted: false }) as const

/**
 * True if no process listens at the address. If the host name has several IP addresses, all of them must have
 * refused the connection.
 */
export function isRefusedBySystem(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isRefusedBySystem)
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'
}
