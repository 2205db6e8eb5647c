// Rule: finds the identity of a caller. If clients must show a certificate, the certificate decides.
// Otherwise the token decides.

import type { Socket } from 'node:net'
import { LatchkeyError, show } from '@latchkey/protocol'
import { certifiedName, whyUntrusted } from '@latchkey/raft'
import type { Identities, Identity } from '../member/identity-and-rights.js'
import type { TlsOptions } from './tls-options.js'

export function callerOf(
  identities: Identities,
  tls: TlsOptions | undefined,
  token: string | undefined,
  socket: Socket,
): Identity | LatchkeyError {
  if (tls?.clientCert === undefined) return identities.of(token) ?? new LatchkeyError('ERR_UNAUTHORIZED')
  const name = certifiedName(socket)
  const found = identities.ofCertificate(name)
  if (found !== undefined) return found
  const why = name === undefined ? whyUntrusted(socket) : `no entry of auth.tokens has the cert ${show(name)}`
  return new LatchkeyError(
    'ERR_UNAUTHORIZED',
    `This member requires a client certificate: ${why}. Pass tls: { cert, key } with a certificate of this cluster's authority.`,
  )
}
