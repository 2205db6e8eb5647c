// Driver: has certificates and tokens read again, when it is asked and when one of their files has changed.
//
// Law: a change is never missed for good. What the files looked like is taken before they are read: one that changes meanwhile looks
// different at the next look. Where they are half written, what was in force stays, and the other half is another change.

import { stat } from 'node:fs/promises'
import type { Clock, Logger, Timer } from '@latchkey/base'

export interface ReloaderPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly files: readonly string[]
  /** Reads everything and takes it into use; throws where something is wrong, with nothing changed. */
  readonly reload: () => void
}

const LOOK_MS = 2_000

export class Reloader {
  readonly #ports: ReloaderPorts
  readonly counts = { ok: 0, refused: 0 }
  #seen: Promise<string>
  #timer: Timer | undefined

  constructor(ports: ReloaderPorts) {
    this.#ports = ports
    this.#seen = this.#look()
    if (ports.files.length > 0) this.#wait()
  }

  /** At once, whether or not a file has changed. */
  run(why: string): void {
    const { logger, reload } = this.#ports
    try {
      reload()
      this.counts.ok++
      logger.info('certificates and tokens were read again', { why })
    } catch (error) {
      this.counts.refused++
      logger.error('certificates and tokens were read again and are refused: those in force stay', {
        why,
        error: (error as Error).message,
      })
    }
  }

  #wait(): void {
    this.#timer = this.#ports.clock.after(LOOK_MS, () => void this.#compare(), { ref: false })
  }

  async #compare(): Promise<void> {
    const before = await this.#seen
    const now = await this.#look()
    if (this.#timer === undefined) return
    this.#seen = Promise.resolve(now)
    if (now !== before) this.run('a file has changed')
    this.#wait()
  }

  /** Never rejects. */
  async #look(): Promise<string> {
    const looks = this.#ports.files.map((path) =>
      stat(path).then(
        ({ ino, size, mtimeMs, ctimeMs }) => [ino, size, mtimeMs, ctimeMs].join(),
        (error: NodeJS.ErrnoException) => String(error.code),
      ),
    )
    return (await Promise.all(looks)).join(' ')
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
