// Driver: counts and logs refused input. A door is a part of the code that checks input from outside, such as
// 'members' for handshakes of members. For each pair of door and reason, this file keeps a counter, and
// writes at most one short log line in ten seconds.
//
// Law: the log lines of refusals are limited in number and in length. Without this law: a client sends ten
// invalid frames of 16 MiB, each refusal quotes its frame, and the log grows by 150 MiB.

import type { Clock } from './clock.js'
import { LimitedLines, shortText } from './log-line-rate-limit.js'
import type { Logger } from './logger.js'

type RefusalFields = Readonly<Record<string, string | number | undefined>>

export interface RefusalCount {
  readonly door: string
  readonly reason: string
  readonly count: number
}

export class RefusalLog {
  readonly #clock: Pick<Clock, 'now'>
  readonly #logger: Logger
  readonly #lines = new LimitedLines()

  constructor({ clock, logger }: { clock: Pick<Clock, 'now'>; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Counts one refusal, and logs it if a line may be written now. Returns true if the refusal was logged.
   * `door` and `reason` are labels of a metric, so they must be constants and never a client's text.
   */
  note(door: string, reason: string, message: string, fields: RefusalFields = {}): boolean {
    const times = this.#lines.note(`${door} ${reason}`, this.#clock.now())
    if (times === undefined) return false
    const shown = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? shortText(value) : value,
    ])
    this.#logger.warn(message, { door, kind: reason, times, ...Object.fromEntries(shown) })
    return true
  }

  count(door: string, reason: string): void {
    this.#lines.count(`${door} ${reason}`)
  }

  counts(): RefusalCount[] {
    return [...this.#lines.counts()].map(([kind, count]) => {
      const [door = '', reason = ''] = kind.split(' ')
      return { door, reason, count }
    })
  }
}
