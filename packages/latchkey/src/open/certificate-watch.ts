// Driver: warns about the member's own certificates that expire soon or have expired: when the member opens,
// after each reload, and once a day.

import type { Clock, Timer } from '@latchkey/base'
import { warningOfDates } from './certificate-dates.js'
import type { Settings } from './options.js'

const EVERY_MS = 86_400_000

export class CertificateWatch {
  readonly #clock: Clock
  readonly #settings: () => Pick<Settings, 'tls' | 'logger'>
  #timer: Timer | undefined

  /** `settings`: those in force. */
  constructor(clock: Clock, settings: () => Pick<Settings, 'tls' | 'logger'>) {
    this.#clock = clock
    this.#settings = settings
    this.look()
  }

  look(): void {
    this.close()
    const { tls, logger } = this.#settings()
    if (tls === undefined) return
    const warning = warningOfDates(tls, this.#clock.instant().wall)
    if (warning !== undefined) logger.warn(warning)
    this.#timer = this.#clock.after(EVERY_MS, () => this.look(), { ref: false })
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
