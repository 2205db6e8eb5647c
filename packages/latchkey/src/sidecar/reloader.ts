// Driver: reads the files of certificates and tokens again when it is asked to, and when one of the files has
// changed.
//
// Law: the reloader misses no change permanently. It records the state of the files before it reads them. So
// a file that changes during the reading differs at the next check. If a file is only half written, the old
// contents stay in force, and the end of the writing counts as a new change.

import { stat } from 'node:fs/promises'
import type { Clock, Logger, Timer } from '@latchkey/base'

interface ReloaderPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly files: readonly string[]
  /**
   * Reads all files and puts their contents into use. If a file is wrong, the function throws and changes
   * nothing.
   */
  readonly reload: () => void
}

const LOOK_MS = 2_000

export class Reloader {
  readonly #ports: ReloaderPorts
  readonly counts = { ok: 0, refused: 0 }
  #seen: Promise<string>
  /**
   * The state of the files when they were refused last, together with the reason. Undefined if they were not
   * refused.
   */
  #refused: string | undefined
  #timer: Timer | undefined
  #last: Promise<void> = Promise.resolve()
  #closed = false

  constructor(ports: ReloaderPorts) {
    this.#ports = ports
    this.#seen = this.#look()
    if (ports.files.length > 0) this.#wait()
  }

  /** Reads the files, even if none has changed. */
  run(why: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#seen = this.#look()
      this.#read(why, await this.#seen)
    })
  }

  /**
   * Runs one step after the other. Without that, two readings at the same time would count one change twice.
   */
  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(() => (this.#closed ? undefined : step()))
    return this.#last
  }

  #read(why: string, seen: string): void {
    if (this.#closed) return
    const { logger, reload } = this.#ports
    try {
      reload()
      this.counts.ok++
      this.#refused = undefined
      logger.info('certificates and tokens were read again', { why })
    } catch (error) {
      this.#refuse(why, seen, error as Error)
    }
  }

  /**
   * Law: the same contents of the files are refused once. Without this law: a signal and a check both find
   * the same mistake, the mistake is counted twice, and an alert reports two mistakes.
   */
  #refuse(why: string, seen: string, { message: error }: Error): void {
    const { logger } = this.#ports
    const refused = JSON.stringify([seen, error])
    if (refused === this.#refused)
      return logger.info('certificates and tokens are as they were when they were refused', { why, error })
    this.#refused = refused
    this.counts.refused++
    logger.error('certificates and tokens were read again and are refused: those in force stay', {
      why,
      error,
    })
  }

  #wait(): void {
    this.#timer = this.#ports.clock.after(LOOK_MS, () => void this.#inTurn(() => this.#compare()), {
      ref: false,
    })
  }

  async #compare(): Promise<void> {
    const before = await this.#seen
    const now = await this.#look()
    this.#seen = Promise.resolve(now)
    if (now !== before) this.#read('a file has changed', now)
    if (!this.#closed) this.#wait()
  }

  /** Resolves to a text that describes the present state of the files. Never rejects. */
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
    this.#closed = true
    this.#timer?.cancel()
  }
}
