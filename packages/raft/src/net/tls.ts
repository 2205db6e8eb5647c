// Rule: TLS between members: which options of Node's say "both sides show a certificate of our authority".

import type { ServerOptions } from 'node:https'
import { TLSSocket } from 'node:tls'
import type { Socket } from 'node:net'

export interface MemberTls {
  readonly cert: string | Uint8Array
  readonly key: string | Uint8Array
  /** Whose certificates members must show, and by whom the one they dial must be signed. */
  readonly ca?: string | Uint8Array | undefined
}

const pem = (value: string | Uint8Array): string | Buffer =>
  typeof value === 'string' ? value : Buffer.from(value)

interface Pems {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  readonly ca?: string | Buffer
}

const pems = ({ cert, key, ca }: MemberTls): Pems => ({
  cert: pem(cert),
  key: pem(key),
  ...(ca === undefined ? {} : { ca: pem(ca) }),
})

/**
 * For the port that serves everybody: a certificate is asked for but not demanded, since clients may come without one; the
 * members' door looks itself (isTrusted).
 */
export const serverTls = (tls: MemberTls): ServerOptions => ({
  ...pems(tls),
  requestCert: tls.ca !== undefined,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
})

export const clientTls = (tls: MemberTls | undefined): Partial<Pems> & { rejectUnauthorized: true } => ({
  ...(tls === undefined ? {} : pems(tls)),
  rejectUnauthorized: true,
})

/** Came over TLS with a certificate of our authority, where one is configured. */
export function isTrusted(tls: MemberTls | undefined, socket: Socket): boolean {
  if (tls?.ca === undefined) return true
  return socket instanceof TLSSocket && socket.authorized
}

/** Of one that is not trusted: what an operator can act on, such as CERT_HAS_EXPIRED. */
export function whyUntrusted(socket: Socket): string {
  const shown = socket instanceof TLSSocket && Object.keys(socket.getPeerCertificate()).length > 0
  return shown
    ? `its certificate is not accepted: ${String(socket.authorizationError)}`
    : "no certificate of this cluster's authority was shown"
}
