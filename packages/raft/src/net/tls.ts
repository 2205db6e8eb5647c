// Rule: TLS between members: the options for Node that make both sides show a certificate that the members'
// certificate authority has signed.

import { EMPTY, newNonce } from '@latchkey/base'
import { constants } from 'node:crypto'
import type { ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { checkServerIdentity, TLSSocket } from 'node:tls'
import type { MemberId } from '../core/types.js'

export interface MemberTls {
  readonly cert: string | Uint8Array
  readonly key: string | Uint8Array
  /** The certificate authority that must have signed the certificates of members. */
  readonly ca?: string | Uint8Array | undefined
  /**
   * The name that a member's certificate must have, such as '{id}.members.example'. With `memberName` a
   * certificate is valid for one member only.
   */
  readonly memberName?: string | undefined
}

const pem = (value: string | Uint8Array): string | Buffer =>
  typeof value === 'string' ? value : Buffer.from(value)

interface Pems {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  readonly ca?: string | Buffer
}

type ClientOptions = Partial<Pems> & { readonly rejectUnauthorized: true; readonly minVersion: 'TLSv1.3' }

const pems = ({ cert, key, ca }: MemberTls): Pems => ({
  cert: pem(cert),
  key: pem(key),
  ...(ca === undefined ? {} : { ca: pem(ca) }),
})

/**
 * Returns the TLS options of a port that serves clients too. The server asks for a certificate but does not
 * require one, because clients may have none. `isTrusted` checks the certificates of members.
 */
export const serverTls = (tls: MemberTls): ServerOptions => ({
  ...pems(tls),
  requestCert: tls.ca !== undefined,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  // This option forbids that a TLS session is resumed. Without this option: a client without a certificate
  // resumes its session, and Node reports the new connection as authorized. Also, a certificate of an
  // authority that was replaced would not be checked again.
  secureOptions: constants.SSL_OP_NO_TICKET,
})

export const clientTls = (tls: MemberTls | undefined): ClientOptions => ({
  ...(tls === undefined ? {} : pems(tls)),
  rejectUnauthorized: true,
  minVersion: 'TLSv1.3',
})

/**
 * True if the connection uses TLS with a certificate of the configured authority. The certificate must be
 * valid for servers, as each member's is. Otherwise, if no token is used, a client with a client certificate
 * of the same authority could connect as a member.
 */
export function isTrusted(tls: MemberTls | undefined, socket: Socket): boolean {
  if (tls?.ca === undefined) return true
  return socket instanceof TLSSocket && socket.authorized && showsCertificate(socket) && isForServers(socket)
}

/**
 * Node reports `authorized` even if the other side shows no certificate, so this function checks that a
 * certificate exists.
 */
const showsCertificate = (socket: TLSSocket): boolean => Object.keys(socket.getPeerCertificate()).length > 0

const SERVERS = '1.3.6.1.5.5.7.3.1'
const ANY_USE = '2.5.29.37.0'

/** A certificate that states no use is valid for all uses. */
function isForServers(socket: TLSSocket): boolean {
  const { ext_key_usage: uses } = socket.getPeerCertificate()
  return uses === undefined || uses.includes(SERVERS) || uses.includes(ANY_USE)
}

/**
 * Returns the name (CN) in the other side's certificate if the authority has signed it and it is valid now.
 * Returns undefined if there is no such certificate, or if it does not have exactly one name.
 */
export function certifiedName(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized || !showsCertificate(socket)) return undefined
  const name: unknown = socket.getPeerCertificate().subject.CN
  return typeof name === 'string' ? name : undefined
}

const CHANNEL_LABEL = 'EXPORTER-latchkey-members'
const CHANNEL_BYTES = 32

/**
 * Returns bytes that only the two ends of this connection can compute (RFC 5705). They are part of both
 * proofs. If TLS is required and the socket has none, the bytes are random, so that no proof fits.
 */
export function channelOf(tls: MemberTls | undefined, socket: Socket): Uint8Array {
  if (tls === undefined) return EMPTY
  if (!(socket instanceof TLSSocket) || socket.destroyed) return newNonce()
  return socket.exportKeyingMaterial(CHANNEL_BYTES, CHANNEL_LABEL, Buffer.alloc(0))
}

/** Returns the reason if the other side's certificate must name this member and does not. */
export function whyNotNamed(tls: MemberTls | undefined, socket: Socket, id: MemberId): string | undefined {
  if (tls?.memberName === undefined) return undefined
  const name = tls.memberName.replaceAll('{id}', id)
  const names =
    socket instanceof TLSSocket && checkServerIdentity(name, socket.getPeerCertificate()) === undefined
  return names ? undefined : `the certificate of member ${id} does not name ${name}`
}

/** Returns why a certificate is not trusted, in words that help an operator, such as CERT_HAS_EXPIRED. */
export function whyUntrusted(socket: Socket): string {
  const shown = socket instanceof TLSSocket && showsCertificate(socket)
  if (shown && socket.authorized) return 'its certificate is for clients alone, not for a server'
  return shown
    ? `its certificate is not accepted: ${String(socket.authorizationError)}`
    : "no certificate of this cluster's authority was shown"
}
