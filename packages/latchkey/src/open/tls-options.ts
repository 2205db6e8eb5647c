// Door: checks the option `tls` of open() and of reload().

import { knownNames, refuseUnknown } from '@latchkey/protocol'

/** The certificates and keys of TLS, as PEM texts. A path to a file is not allowed here. */
export interface TlsOptions {
  cert: string | Uint8Array
  key: string | Uint8Array
  /**
   * The certificate of an authority. With this option, each member must show a certificate that the authority
   * has signed. Members also check each other's certificates by this authority.
   */
  ca?: string | Uint8Array | undefined
  /**
   * A name that each member's certificate must have: in '{id}.members.example', {id} stands for the id of the
   * member. Without this option and without auth.memberToken, any server certificate of the authority could
   * be used for any member.
   */
  memberName?: string | undefined
  /**
   * With 'required', each client must show a certificate of `ca`, also over HTTP. The certificate's name (CN)
   * must equal `cert` in an entry of `auth.tokens`, which has the rights. The member then ignores tokens.
   */
  clientCert?: 'required' | undefined
  /** The paths of `cert` and `ca`, for messages about these certificates. */
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
