// Driver: reads the files with certificates and tokens again after a signal, and when a file has changed.
//
// Law: the reloader notices each change of a file sooner or later. So the size and times of the files are
// noted before each reading of their contents, also before the first. Without this law: an operator replaces
// a certificate while the member reads the file for the first time. The member then keeps the old certificate
// until the file changes again. If the reloader reads a half-written file, the reload fails, and the old
// contents stay in use. The next check then notices the rest of the write.

import { stat } from 'node:fs/promises'
import type { Clock, Logger, Timer } from '@latchkey/base'

interface ReloaderPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly files: readonly string[]
  /** The result of `Reloader.look` before the files were first read. */
  readonly seen: string
  /** Reads all files. If a file is wrong, the function throws, and the old contents stay in use. */
  readonly reload: () => void
}

/** In ms, between two checks of the files. */
const LOOK_MS = 2_000

export class Reloader {
  readonly #ports: ReloaderPorts
  readonly counts = { ok: 0, refused: 0 }
  #seen: Promise<string>
  /** The result of `look` and the error of the last refusal. Undefined if the last reload succeeded. */
  #refused: string | undefined
  #timer: Timer | undefined
  #last: Promise<void> = Promise.resolve()
  #closed = false

  constructor(ports: ReloaderPorts) {
    this.#ports = ports
    this.#seen = Promise.resolve(ports.seen)
    if (ports.files.length > 0) this.#wait()
  }

  /** Reads the files even if they have not changed. */
  run(why: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#seen = Reloader.look(this.#ports.files)
      this.#read(why, await this.#seen)
    })
  }

  /** Runs `step` after all earlier steps. Two reloads at the same time would count one change twice. */
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
   * Law: the same mistake in the files is counted once. Without this law: a signal and a check find the same
   * mistake, and an alert reports two.
   */
  #refuse(why: string, seen: string, { message: error }: Error): void {
    const { logger } = this.#ports
    const refused = JSON.stringify([seen, error])
    if (refused === this.#refused)
      return logger.info('certificates and tokens have not changed since they were refused', { why, error })
    this.#refused = refused
    this.counts.refused++
    logger.error('certificates and tokens were read again and refused: the old ones stay in use', {
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
    const now = await Reloader.look(this.#ports.files)
    this.#seen = Promise.resolve(now)
    if (now !== before) this.#read('a file has changed', now)
    if (!this.#closed) this.#wait()
  }

  /** Resolves to a text with the inode, size and times of each file. Never rejects. */
  static async look(files: readonly string[]): Promise<string> {
    const looks = files.map((path) =>
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
