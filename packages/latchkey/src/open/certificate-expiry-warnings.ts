// Driver: warns about certificates of the member that expire soon or have expired. This file checks the
// certificates when the member opens, after each reload, once a day, and when a certificate expires.

import type { Clock, Timer } from '@latchkey/base'
import { expiryOf, warningOfDates } from './certificate-dates.js'
import type { Settings } from './options.js'

/** In ms. Once a day. */
const EVERY_MS = 86_400_000

export class CertificateWatch {
  readonly #clock: Clock
  readonly #settings: () => Pick<Settings, 'tls' | 'logger'>
  #timer: Timer | undefined
  #expiresAt: number | undefined

  /** `settings` returns the present settings. */
  constructor(clock: Clock, settings: () => Pick<Settings, 'tls' | 'logger'>) {
    this.#clock = clock
    this.#settings = settings
    this.look()
  }

  look(): void {
    this.close()
    this.#expiresAt = undefined
    const { tls, logger } = this.#settings()
    if (tls === undefined) return
    const { wall } = this.#clock.instant()
    const warning = warningOfDates(tls, wall)
    if (warning !== undefined) logger.warn(warning)
    this.#expiresAt = expiryOf(tls)
    const left = (this.#expiresAt ?? 0) - wall
    const wait = left > 0 ? Math.min(left + 1_000, EVERY_MS) : EVERY_MS
    this.#timer = this.#clock.after(wait, () => this.look(), { ref: false })
  }

  get expiresAt(): number | undefined {
    return this.#expiresAt
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
