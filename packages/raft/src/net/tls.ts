// Rule: the options of TLS between members. Both sides must show a certificate that the members' certificate
// authority has signed.

import { EMPTY, newNonce } from '@latchkey/base'
import { constants } from 'node:crypto'
import type { ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { checkServerIdentity, TLSSocket } from 'node:tls'
import type { MemberId } from '../core/types.js'

export interface MemberTls {
  readonly cert: string | Uint8Array
  readonly key: string | Uint8Array
  /** The certificate authority that signs the certificates of all members. */
  readonly ca?: string | Uint8Array | undefined
  /**
   * The name that a member's certificate must contain, such as '{id}.members.example'. '{id}' stands for the
   * member's id. So a certificate is valid for one member only.
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
 * The options of a port that also serves clients. The server requires no certificate, because clients may
 * have none. `isTrusted` checks the certificates of members.
 */
export const serverTls = (tls: MemberTls): ServerOptions => ({
  ...pems(tls),
  requestCert: tls.ca !== undefined,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  // Without this option, a client without a certificate can resume a TLS session, and Node reports the new
  // connection as authorized. Also, certificates of a replaced authority would stay valid in resumed
  // sessions.
  secureOptions: constants.SSL_OP_NO_TICKET,
})

export const clientTls = (tls: MemberTls | undefined): ClientOptions => ({
  ...(tls === undefined ? {} : pems(tls)),
  rejectUnauthorized: true,
  minVersion: 'TLSv1.3',
})

/**
 * True if the other side has shown a valid certificate of the members' authority, or if no authority is
 * configured. The certificate must be a server certificate. So a client with a client certificate of the same
 * authority cannot connect as a member.
 */
export function isTrusted(tls: MemberTls | undefined, socket: Socket): boolean {
  if (tls?.ca === undefined) return true
  return socket instanceof TLSSocket && socket.authorized && showsCertificate(socket) && isForServers(socket)
}

/**
 * Node can report `authorized` for a connection without a certificate, so `authorized` alone is not enough.
 */
const showsCertificate = (socket: TLSSocket): boolean => Object.keys(socket.getPeerCertificate()).length > 0

const SERVERS = '1.3.6.1.5.5.7.3.1'
const ANY_USE = '2.5.29.37.0'

/** A certificate without a list of uses allows all uses. */
function isForServers(socket: TLSSocket): boolean {
  const { ext_key_usage: uses } = socket.getPeerCertificate()
  return uses === undefined || uses.includes(SERVERS) || uses.includes(ANY_USE)
}

/**
 * The common name (CN) of the other side's certificate. Undefined if the certificate is missing or invalid,
 * or does not have exactly one common name.
 */
export function certifiedName(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized || !showsCertificate(socket)) return undefined
  const name: unknown = socket.getPeerCertificate().subject.CN
  return typeof name === 'string' ? name : undefined
}

const CHANNEL_LABEL = 'EXPORTER-latchkey-members'
const CHANNEL_BYTES = 32

/**
 * Returns bytes that only the two ends of this TLS connection can compute (RFC 5705). Both proofs of the
 * handshake contain these bytes. If the socket does not use TLS although it must, the bytes are random, and
 * no proof fits.
 */
export function channelOf(tls: MemberTls | undefined, socket: Socket): Uint8Array {
  if (tls === undefined) return EMPTY
  if (!(socket instanceof TLSSocket) || socket.destroyed) return newNonce()
  return socket.exportKeyingMaterial(CHANNEL_BYTES, CHANNEL_LABEL, Buffer.alloc(0))
}

/** Undefined if `memberName` is not configured, or if the certificate names member `id`. */
export function whyNotNamed(tls: MemberTls | undefined, socket: Socket, id: MemberId): string | undefined {
  if (tls?.memberName === undefined) return undefined
  const name = tls.memberName.replaceAll('{id}', id)
  const names =
    socket instanceof TLSSocket && checkServerIdentity(name, socket.getPeerCertificate()) === undefined
  return names ? undefined : `the certificate of member ${id} does not name ${name}`
}

/** For the operator's log. */
export function whyUntrusted(socket: Socket): string {
  const shown = socket instanceof TLSSocket && showsCertificate(socket)
  if (shown && socket.authorized) return 'its certificate is for clients alone, not for a server'
  return shown
    ? `its certificate is not accepted: ${String(socket.authorizationError)}`
    : "no certificate of this cluster's authority was shown"
}
