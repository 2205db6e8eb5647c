// Test: the warnings about a certificate on each day before and after its end.

import { readFileSync } from 'node:fs'
import { silentLogger } from '@latchkey/base'
import { expect, test } from 'vitest'
import { refusalOfDates, warningOfDates } from './certificate-dates.js'
import { CertificateWatch } from './certificate-expiry-warnings.js'
import type { TlsOptions } from './tls-options.js'

const pem = (name: string) =>
  readFileSync(new URL(`../../../raft/src/net/testing/certs/${name}.pem`, import.meta.url), 'utf8')
/** Valid from the first of January 2020 to that of 2120. */
const tls: TlsOptions = { cert: pem('named-a-cert'), key: pem('named-a-key'), ca: pem('named-ca') }
const DAY = 86_400_000
const FROM = Date.UTC(2020, 0, 1)
const TO = Date.UTC(2120, 0, 1)

test('C46: outside of its dates a certificate is refused, with its name, its date and its file', () => {
  const files = { cert: '/etc/latchkey/a.pem' }
  const late = refusalOfDates({ ...tls, files }, TO + 1)
  expect(late).toMatchObject({ code: 'ERR_UNAUTHORIZED' })
  expect(late?.message).toMatch(
    /^tls\.cert \(\/etc\/latchkey\/a\.pem\): the certificate "test only member a" has expired on 2120-01-01T00:00:00\.000Z/,
  )
  const early = refusalOfDates(tls, FROM - 1)?.message
  expect(early).toMatch(/^tls\.cert: .* is not valid before 2020-01-01T00:00:00\.000Z/)
  for (const now of [FROM, TO - 14 * DAY, TO]) expect(refusalOfDates(tls, now)).toBeUndefined()
})

test('C46: an authority is refused where none of those in its file is good', () => {
  const own = pem('mixed-member-cert')
  const [old, other] = [pem('named-ca'), pem('mixed-ca')]
  const now = TO + DAY
  expect(refusalOfDates({ ...tls, cert: own, ca: old + other }, now)).toBeUndefined()
  expect(refusalOfDates({ ...tls, cert: own, ca: old }, now)?.message).toMatch(/^tls\.ca: .* has expired/)
})

test('an operator hears fourteen days before, and when it is over; earlier there is nothing to say', () => {
  expect(warningOfDates(tls, TO - 14 * DAY - 1)).toBeUndefined()
  expect(warningOfDates(tls, TO - 13.5 * DAY)).toMatch(/expires on 2120-01-01T.*, in 13 days\. Replace/)
  expect(warningOfDates(tls, TO + 1)).toMatch(/has expired on 2120-01-01T.*: members and clients refuse it/)
})

test('what cannot be read is not judged here', () => {
  const broken = '-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n'
  expect(refusalOfDates({ ...tls, ca: undefined, cert: broken }, 0)).toBeUndefined()
  expect(refusalOfDates({ ...tls, ca: broken, cert: 'nothing' }, 0)).toBeUndefined()
})

test('a member that runs for months warns once a day, until it is closed', () => {
  let wall = TO - 15 * DAY
  let due: (() => void) | undefined
  const clock = {
    now: () => wall,
    instant: () => ({ hr: wall, up: wall, wall }),
    after: (ms: number, run: () => void) => {
      due = () => {
        wall += ms
        run()
      }
      return { cancel: () => void (due = undefined) }
    },
  }
  const said: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void said.push(message) }
  const watch = new CertificateWatch(clock, () => ({ tls, logger }))
  expect(said).toEqual([])
  for (let day = 0; day < 3; day++) due?.()
  expect(said).toEqual([expect.stringContaining('in 13 days'), expect.stringContaining('in 12 days')])
  expect(watch.expiresAt).toBe(TO)
  // The day on which it expires has a warning of its own at that moment.
  wall = TO - DAY / 2
  watch.look()
  due?.()
  expect(wall).toBe(TO + 1_000)
  expect(said.at(-1)).toContain('has expired')
  watch.close()
  expect(due).toBeUndefined()
})
