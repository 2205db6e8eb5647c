// Driver: reads certificates and tokens again, when it is asked to and when one of their files has changed.
//
// Law: every change is noticed. The state of the files is taken before they are read, so a file that changes
// during the reading looks different at the next check. If a file is half written, the former contents stay
// in force, and the other half is another change.

import { stat } from 'node:fs/promises'
import type { Clock, Logger, Timer } from '@latchkey/base'

interface ReloaderPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly files: readonly string[]
  /** Reads everything and puts it into use. Throws if something is wrong, and then nothing has changed. */
  readonly reload: () => void
}

const LOOK_MS = 2_000

export class Reloader {
  readonly #ports: ReloaderPorts
  readonly counts = { ok: 0, refused: 0 }
  #seen: Promise<string>
  /** The state of the files when they were last refused, and the reason. */
  #refused: string | undefined
  #timer: Timer | undefined
  #last: Promise<void> = Promise.resolve()
  #closed = false

  constructor(ports: ReloaderPorts) {
    this.#ports = ports
    this.#seen = this.#look()
    if (ports.files.length > 0) this.#wait()
  }

  /** Reads the files, changed or not. */
  run(why: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#seen = this.#look()
      this.#read(why, await this.#seen)
    })
  }

  /** One reading runs at a time. What the first has read is no change for the second. */
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
   * Law: the same files are refused once. Without this law: one mistake counts twice, once for a signal and
   * once for a change, and alerts count mistakes.
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
    this.#closed = true
    this.#timer?.cancel()
  }
}
