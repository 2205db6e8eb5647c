// Driver: owns the errors that escape from handlers of connections: it counts them, logs them in one line, and has the connection closed.
//
// Law: an error that a handler of a connection throws, or rejects with, ends that connection and nothing else. Without it the story is:
// a stranger sends a frame that some check did not foresee, the check throws inside an event of the socket, nobody catches, and the
// process ends with all that it served.
//
// The decoders stand in front: whatever is decoded is a value of the expected shape or a refusal. What arrives here is a mistake of
// ours, and has to be seen: by the counter in the figures, and by the line in the log.

import type { Clock } from './clock.js'
import { LimitedLines, shortText } from './limited-lines.js'
import type { Logger } from './logger.js'

export interface ConnectionErrorsPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
}

export class ConnectionErrors {
  readonly #ports: ConnectionErrorsPorts
  readonly #lines = new LimitedLines()

  constructor(ports: ConnectionErrorsPorts) {
    this.#ports = ports
  }

  /**
   * The same handler, of which no error escapes: a handler that throws, or whose promise rejects, has its connection closed by `close`.
   * `where` names the kind of handler. It is a label of a metric: give constants of the code only, never what came from outside.
   */
  guard<Args extends readonly unknown[]>(
    where: string,
    handle: (...args: Args) => unknown,
    close: (...args: Args) => void,
  ): (...args: Args) => void {
    const failed = (error: unknown, args: Args) => {
      this.note(where, error)
      try {
        close(...args)
      } catch {
        // A connection that cannot even be closed is gone already.
      }
    }
    return (...args) => {
      try {
        const result = handle(...args)
        if (result instanceof Promise) result.catch((error: unknown) => failed(error, args))
      } catch (error) {
        failed(error, args)
      }
    }
  }

  /** For a handler that has closed its connection itself. */
  note(where: string, error: unknown): void {
    const errors = this.#lines.note(where, this.#ports.clock.now())
    if (errors === undefined) return
    this.#ports.logger.error('an error ended a connection', { where, error: shortError(error), errors })
  }

  /** How many there have been, by kind of handler. */
  counts(): ReadonlyMap<string, number> {
    return this.#lines.counts()
  }
}

/** One short line about anything that was thrown, with the place in the code where it was; never throws itself. */
export function shortError(error: unknown): string {
  try {
    const said = error instanceof Error ? `${error.name}: ${error.message}` : `a thrown ${typeof error}`
    const place = error instanceof Error ? /\(?([^\s()/]+:\d+:\d+)\)?\s*$/m.exec(stackOf(error)) : null
    const line = shortText(said)
    return place === null ? line : `${line} (${place[1] as string})`
  } catch {
    return 'an error that cannot be described'
  }
}

/** Only the lines of places: a message may have several lines of its own. */
const stackOf = ({ stack }: Error): string =>
  (stack ?? '').split('\n').find((line) => /^\s+at /.test(line)) ?? ''
