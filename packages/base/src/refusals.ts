// Driver: owns what was refused at the doors: it counts refusals by door and reason, and logs them in short lines, one per kind in
// ten seconds.
//
// Law: what a refusal costs in the log is bounded, in lines and in the length of each. Without it the story is: ten frames of
// 16 MiB that make no sense are quoted in the reason of their refusal, and the log has grown by 150 MiB.

import type { Clock } from './clock.js'
import { LimitedLines, shortText } from './limited-lines.js'
import type { Logger } from './logger.js'

export interface RefusalsPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
}

/** What is told of one refusal besides its kind: text is cut. */
export type RefusalFields = Readonly<Record<string, string | number | undefined>>

export interface RefusalCount {
  readonly door: string
  readonly reason: string
  readonly count: number
}

export class RefusalLog {
  readonly #ports: RefusalsPorts
  readonly #lines = new LimitedLines()

  constructor(ports: RefusalsPorts) {
    this.#ports = ports
  }

  /**
   * `door` and `reason` are labels of a metric: give constants of the code only, never what came from outside. Tells whether it was
   * logged.
   */
  note(door: string, reason: string, message: string, fields: RefusalFields = {}): boolean {
    const times = this.#lines.note(`${door} ${reason}`, this.#ports.clock.now())
    if (times === undefined) return false
    const told = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? shortText(value) : value,
    ])
    this.#ports.logger.warn(message, { door, kind: reason, times, ...Object.fromEntries(told) })
    return true
  }

  /** One more of which nothing new can be said. */
  count(door: string, reason: string): void {
    this.#lines.count(`${door} ${reason}`)
  }

  /** How many there have been, by door and reason. */
  counts(): RefusalCount[] {
    return [...this.#lines.counts()].map(([kind, count]) => {
      const [door = '', reason = ''] = kind.split(' ')
      return { door, reason, count }
    })
  }
}
