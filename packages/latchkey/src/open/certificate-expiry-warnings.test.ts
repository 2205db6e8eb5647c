// Test: a member that reads its certificates again has one timer for their next check, and none without TLS.

import { readFileSync } from 'node:fs'
import { silentLogger } from '@latchkey/base'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { CertificateWatch } from './certificate-expiry-warnings.js'
import type { TlsOptions } from './tls-options.js'

const pem = (name: string) =>
  readFileSync(new URL(`../../../raft/src/net/testing/certs/${name}.pem`, import.meta.url), 'utf8')
const TLS: TlsOptions = { cert: pem('named-a-cert'), key: pem('named-a-key'), ca: pem('named-ca') }
/** The end of the certificate. */
const TO = Date.UTC(2120, 0, 1)
const DAY = 86_400_000

/** A member that opens at the time `wall`. */
function opened(wall: number, given: TlsOptions | undefined) {
  const clock = new ManualClock()
  const warnings: string[] = []
  const settings = {
    tls: given,
    logger: { ...silentLogger, warn: (text: string) => void warnings.push(text) },
  }
  const dated = {
    now: () => clock.now(),
    after: (ms: number, run: () => void) => clock.after(ms, run),
    instant: () => ({ ...clock.instant(), wall: wall + clock.now() }),
  }
  return { clock, warnings, settings, watch: new CertificateWatch(dated, () => settings) }
}

test('a reload checks again, and leaves one timer', () => {
  const { clock, warnings, settings, watch } = opened(TO - 3 * DAY, TLS)
  expect([warnings.length, clock.armed, watch.expiresAt]).toEqual([1, 1, TO])
  watch.look()
  expect([warnings.length, clock.armed]).toEqual([2, 1])
  clock.advance(DAY)
  expect([warnings.length, clock.armed]).toEqual([3, 1])
  Object.assign(settings, { tls: undefined })
  watch.look()
  expect([warnings.length, clock.armed, watch.expiresAt]).toEqual([3, 0, undefined])
})

test('the last check before the end comes a second after the end, and then once a day', () => {
  const { clock, warnings, watch } = opened(TO - DAY / 2, TLS)
  clock.advance(DAY / 2 + 999)
  expect(warnings).toHaveLength(1)
  clock.advance(1)
  expect(warnings[1]).toMatch(/has expired/)
  clock.advance(DAY - 1)
  expect(warnings).toHaveLength(2)
  clock.advance(1)
  expect(warnings).toHaveLength(3)
  watch.close()
  watch.close()
  expect(clock.armed).toBe(0)
})
