// Driver: makes keys, and certificates over them that an authority of one's own has signed; for as long as
// one says.

import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface Pair {
  readonly cert: string
  readonly key: string
}
export interface Authority extends Pair {
  issue(name: string, validity?: Validity, hosts?: readonly string[]): Pair
}
export interface Validity {
  readonly from: Date
  readonly to: Date
}

const DAY = 86_400_000
const aroundNow = (): Validity => ({ from: new Date(Date.now() - DAY), to: new Date(Date.now() + DAY) })

/** Its certificates are for 127.0.0.1 and localhost, and the hosts named. */
export function authority(name: string): Authority {
  const { publicKey, privateKey } = keys()
  const own = { issuer: name, signer: privateKey, isAuthority: true }
  const cert = certificate({ ...own, subject: name, publicKey, validity: aroundNow() })
  return {
    cert,
    key: pemOf(privateKey),
    issue(subject, validity = aroundNow(), hosts = []) {
      const pair = keys()
      const issued = { issuer: name, signer: privateKey, isAuthority: false }
      return {
        cert: certificate({ ...issued, subject, publicKey: pair.publicKey, validity, hosts }),
        key: pemOf(pair.privateKey),
      }
    },
  }
}

const keys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string

interface Facts {
  readonly subject: string
  readonly issuer: string
  readonly publicKey: KeyObject
  readonly signer: KeyObject
  readonly validity: Validity
  readonly isAuthority: boolean
  readonly hosts?: readonly string[]
}

/** X.509, version 3, in the few parts that TLS asks for. */
function certificate(facts: Facts): string {
  const algorithm = sequence(oid('2a8648ce3d040302')) // ecdsa-with-SHA256
  const body = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    commonName(facts.issuer),
    sequence(time(facts.validity.from), time(facts.validity.to)),
    commonName(facts.subject),
    createPublicKey(facts.publicKey.export({ type: 'spki', format: 'pem' })).export({
      type: 'spki',
      format: 'der',
    }),
    der(0xa3, sequence(...extensions(facts))),
  )
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, facts.signer)]))
  const base64 = sequence(body, algorithm, signature).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`
}

function extensions({ isAuthority, hosts = [] }: Facts): Buffer[] {
  const yes = der(0x01, Buffer.from([0xff]))
  const dns = ['localhost', ...hosts].map((host) => der(0x82, Buffer.from(host)))
  const names = sequence(...dns, der(0x87, Buffer.from([127, 0, 0, 1])))
  const constraints = isAuthority ? sequence(yes) : sequence()
  return [
    sequence(oid('551d13'), yes, der(0x04, constraints)),
    ...(isAuthority ? [] : [sequence(oid('551d11'), der(0x04, names))]),
  ]
}

// ---- DER: a tag, a length, the bytes

function der(tag: number, bytes: Buffer): Buffer {
  const { length } = bytes
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), bytes])
}
const sequence = (...parts: readonly Buffer[]) => der(0x30, Buffer.concat(parts))
const integer = (bytes: Buffer) => der(0x02, bytes)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const commonName = (name: string) =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))))
/** GeneralizedTime */
const time = (date: Date) =>
  der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))
