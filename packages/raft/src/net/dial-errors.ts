// Rule: what the error of a socket that was dialled says of the other side.

import type { Refusal } from './handshake.js'

/**
 * Why no connection came about, where that will not pass by itself: a certificate, an answer that is no welcome, an address that
 * means nothing. A member that is down, slow or just starting is nothing to tell.
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

/** Nobody listens there: every address of that name refused. */
export function isRefusedBySystem(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isRefusedBySystem)
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'
}
