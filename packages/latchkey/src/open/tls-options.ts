// Door: checks the option `tls` of open() and of reload().

import { knownNames, refuseUnknown } from '@latchkey/protocol'

/** Certificates and keys as PEM text, not as paths. */
export interface TlsOptions {
  cert: string | Uint8Array
  key: string | Uint8Array
  /**
   * The certificate of an authority. If it is set, each member must show a certificate that this authority
   * has signed. A member also trusts this authority when it connects to other members.
   */
  ca?: string | Uint8Array | undefined
  /**
   * A name that a member's certificate must contain beside its address: '{id}.members.example', where {id}
   * stands for the id of the member. Without this name and without auth.memberToken, every server certificate
   * of `ca` is accepted for every member.
   */
  memberName?: string | undefined
  /**
   * With 'required', clients must show a certificate of `ca`, also over HTTP. Its name (CN) must be the
   * `cert` of an entry of `auth.tokens`, which names the rights. The member then ignores tokens.
   */
  clientCert?: 'required' | undefined
  /** The paths from which `cert` and `ca` were read, for messages about certificates. */
  files?: { readonly cert?: string | undefined; readonly ca?: string | undefined } | undefined
}

const TLS_OPTIONS = knownNames('cert', 'key', 'ca', 'memberName', 'clientCert', 'files')

export function checkTls(tls: TlsOptions | undefined): TlsOptions | undefined {
  if (tls === undefined) return undefined
  const pem = (value: unknown) => (typeof value === 'string' && value !== '') || value instanceof Uint8Array
  if (typeof tls === 'object' && tls !== null) refuseUnknown(tls, TLS_OPTIONS, 'option', 'tls')
  if (typeof tls !== 'object' || tls === null || !pem(tls.cert) || !pem(tls.key)) {
    throw new TypeError('tls must hold cert and key in PEM form, and ca for members that check each other')
  }
  if (tls.ca !== undefined && !pem(tls.ca)) throw new TypeError('tls.ca must be in PEM form')
  checkMemberName(tls)
  if (tls.clientCert !== undefined && tls.clientCert !== 'required')
    throw new TypeError("tls.clientCert must be 'required'")
  if (tls.clientCert !== undefined && tls.ca === undefined)
    throw new TypeError('tls.clientCert needs tls.ca: the authority whose certificates clients show')
  return tls
}

function checkMemberName({ memberName, ca }: TlsOptions): void {
  if (memberName === undefined) return
  if (typeof memberName !== 'string' || !memberName.includes('{id}'))
    throw new TypeError("tls.memberName must be a name with {id} in it, such as '{id}.members.example'")
  if (ca === undefined)
    throw new TypeError('tls.memberName needs tls.ca: without it members show no certificates')
}
