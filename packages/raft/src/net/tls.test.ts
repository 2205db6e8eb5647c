// Test: only a valid certificate of the authority gives its name to the caller who shows it.

import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { certifiedName } from './tls.js'

/** A connection on which the other side has shown this certificate. An empty object means none. */
const shows = (certificate: object, authorized: boolean): TLSSocket =>
  Object.create(TLSSocket.prototype, {
    authorized: { value: authorized },
    getPeerCertificate: { value: () => certificate },
  }) as TLSSocket

test.each([
  ['a valid certificate', shows({ subject: { CN: 'ops' } }, true), 'ops'],
  [
    'a certificate of another authority with the same name',
    shows({ subject: { CN: 'ops' } }, false),
    undefined,
  ],
  ['no certificate, although Node says that the connection is authorized', shows({}, true), undefined],
  ['no certificate', shows({}, false), undefined],
  ['a certificate with two names', shows({ subject: { CN: ['ops', 'root'] } }, true), undefined],
  ['a connection without TLS', new Socket(), undefined],
])('C40: the name of the caller: %s', (_, socket, name) => {
  expect(certifiedName(socket)).toBe(name)
})
