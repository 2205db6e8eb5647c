// Rule: TLS between members: which options of Node's say "both sides show a certificate of our authority".

import { EMPTY, newNonce } from '@latchkey/base'
import { constants } from 'node:crypto'
import type { ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { checkServerIdentity, TLSSocket } from 'node:tls'
import type { MemberId } from '../core/types.js'

export interface MemberTls {
  readonly cert: string | Uint8Array
  readonly key: string | Uint8Array
  /** Whose certificates members must show, and by whom the one they dial must be signed. */
  readonly ca?: string | Uint8Array | undefined
  /** What the certificate of a member must name, such as '{id}.members.example': whoever has one is that member alone. */
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
 * For the port that serves everybody: a certificate is asked for but not demanded, since clients may come without one; the
 * members' door looks itself (isTrusted).
 */
export const serverTls = (tls: MemberTls): ServerOptions => ({
  ...pems(tls),
  requestCert: tls.ca !== undefined,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  // No connection goes on with the session of an earlier one. The story without it: Node calls a connection authorized that goes on
  // with one where no certificate was shown; and what was judged by an authority that has been replaced is not judged again.
  secureOptions: constants.SSL_OP_NO_TICKET,
})

export const clientTls = (tls: MemberTls | undefined): ClientOptions => ({
  ...(tls === undefined ? {} : pems(tls)),
  rejectUnauthorized: true,
  minVersion: 'TLSv1.3',
})

/**
 * Came over TLS with a certificate of our authority, where one is configured. It has to be good for a server, as that of each member is:
 * otherwise a client with a certificate of the same authority, made for clients alone, comes in as a member where no token is asked for.
 */
export function isTrusted(tls: MemberTls | undefined, socket: Socket): boolean {
  if (tls?.ca === undefined) return true
  return socket instanceof TLSSocket && socket.authorized && showsCertificate(socket) && isForServers(socket)
}

/** Node says `authorized` also where there is nothing to judge: it has to be there. */
const showsCertificate = (socket: TLSSocket): boolean => Object.keys(socket.getPeerCertificate()).length > 0

const SERVERS = '1.3.6.1.5.5.7.3.1'
const ANY_USE = '2.5.29.37.0'

/** A certificate that does not say what it is for is for everything. */
function isForServers(socket: TLSSocket): boolean {
  const { ext_key_usage: uses } = socket.getPeerCertificate()
  return uses === undefined || uses.includes(SERVERS) || uses.includes(ANY_USE)
}

/**
 * The name (CN) in the certificate that the other end shows, where one of our authority signed it and it is good now; undefined: there is
 * no such certificate, or it has not one name.
 */
export function certifiedName(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized || !showsCertificate(socket)) return undefined
  const name: unknown = socket.getPeerCertificate().subject.CN
  return typeof name === 'string' ? name : undefined
}

const CHANNEL_LABEL = 'EXPORTER-latchkey-members'
const CHANNEL_BYTES = 32

/**
 * What only the two ends of this very connection can compute (RFC 5705): a part of the proofs of both. Where TLS is asked for and there
 * is none, it is a number that fits nothing.
 */
export function channelOf(tls: MemberTls | undefined, socket: Socket): Uint8Array {
  if (tls === undefined) return EMPTY
  if (!(socket instanceof TLSSocket) || socket.destroyed) return newNonce()
  return socket.exportKeyingMaterial(CHANNEL_BYTES, CHANNEL_LABEL, Buffer.alloc(0))
}

/** The other end's certificate has to name the member that it says to be, where that is asked for. */
export function whyNotNamed(tls: MemberTls | undefined, socket: Socket, id: MemberId): string | undefined {
  if (tls?.memberName === undefined) return undefined
  const name = tls.memberName.replaceAll('{id}', id)
  const names =
    socket instanceof TLSSocket && checkServerIdentity(name, socket.getPeerCertificate()) === undefined
  return names ? undefined : `the certificate of member ${id} does not name ${name}`
}

/** Of one that is not trusted: what an operator can act on, such as CERT_HAS_EXPIRED. */
export function whyUntrusted(socket: Socket): string {
  const shown = socket instanceof TLSSocket && showsCertificate(socket)
  if (shown && socket.authorized) return 'its certificate is for clients alone, not for a server'
  return shown
    ? `its certificate is not accepted: ${String(socket.authorizationError)}`
    : "no certificate of this cluster's authority was shown"
}
