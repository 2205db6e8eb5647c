// Door: checks new certificates and tokens for a running member. The member uses the new certificates and
// tokens only if all of them are correct.
//
// Law: a reload changes all settings or no setting. Without this law: an operator writes a new certificate,
// and its key a moment later. A member that reads the files between the two writes has the new certificate
// and the old key, and can open no connection.

import { unknownName } from '@latchkey/protocol'
import { serverTls } from '@latchkey/raft'
import { createSecureContext } from 'node:tls'
import type { AuthOptions } from '../member/identity-and-rights.js'
import { checkAuth, checkClientCertificates } from './auth-options.js'
import { refusalOfDates } from './certificate-dates.js'
import { refuseUnprovenMembers } from './choose-member-proof.js'
import type { Settings } from './options.js'
import { checkTls, type TlsOptions } from './tls-options.js'

export interface ReloadOptions {
  /**
   * The new certificates. Open connections stay open. You can change `ca`, but you cannot add or remove it.
   */
  tls?: TlsOptions | undefined
  /**
   * The new tokens. A connection is closed if its token was removed or has other rights now. If this field is
   * missing, the member reads the token file of `open()` again.
   */
  auth?: AuthOptions | undefined
}

/**
 * `others` is true if the cluster has several members, and `now` is the date in ms since 1970. Throws a
 * TypeError if an option is wrong, or ERR_UNAUTHORIZED if a new certificate is expired or not valid yet.
 */
export function reloaded(settings: Settings, given: ReloadOptions, others: boolean, now: number): Settings {
  if (typeof given !== 'object' || given === null) throw new TypeError('reload: options must be an object')
  for (const name of Object.keys(given)) {
    if (name !== 'tls' && name !== 'auth') throw unknownName('option', name, 'reload', ['tls', 'auth'])
  }
  const tls = given.tls === undefined ? settings.tls : checkTls(given.tls)
  const givenAuth = given.auth ?? settings.givenAuth
  const auth = checkAuth(givenAuth)
  if (tls !== settings.tls) checkChange(settings.tls, tls, now)
  const next = { ...settings, tls, auth, givenAuth }
  checkClientCertificates(next)
  refuseUnprovenMembers(next, others)
  return next
}

function checkChange(before: TlsOptions | undefined, after: TlsOptions | undefined, now: number): void {
  if (before === undefined || after === undefined)
    throw new TypeError('tls cannot be added or removed while a member runs: restart the member')
  if ((before.ca === undefined) !== (after.ca === undefined))
    throw new TypeError('tls.ca cannot be added or removed while a member runs: restart the member')
  if (before.clientCert !== after.clientCert)
    throw new TypeError('tls.clientCert cannot be added or removed while a member runs: restart the member')
  try {
    createSecureContext(serverTls(after))
  } catch (cause) {
    throw new TypeError(`tls: the certificate or its key cannot be used: ${(cause as Error).message}`, {
      cause,
    })
  }
  const refusal = isSame(before, after) ? undefined : refusalOfDates(after, now)
  if (refusal !== undefined) throw refusal
}

/**
 * The dates of unchanged certificates are not checked. Otherwise an operator with an expired certificate
 * could not even remove a token.
 */
const isSame = (before: TlsOptions, after: TlsOptions): boolean =>
  String(before.cert) === String(after.cert) && String(before.ca) === String(after.ca)
