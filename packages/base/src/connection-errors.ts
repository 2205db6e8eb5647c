// Driver: counts and logs the unexpected errors of connection handlers, and closes the connection of each.
//
// Law: an error that a handler of a connection throws, or rejects with, ends that connection and nothing
// else. Without this law: a client sends a frame that no check foresaw. The handler throws inside a socket's
// event, nothing catches the error, and the whole process ends.
//
// The decoders run first, and turn each frame into a value of the expected form or into a refusal. So an
// error that arrives here is a bug of this project. It must be visible in the metrics (as a counter) and in
// the log (as a line).

import type { Clock } from './clock.js'
import { LimitedLines, shortText } from './log-line-limit.js'
import type { Logger } from './logger.js'

/**
 * The kinds of handlers. They are labels of a metric, so they must be constants of the code and no
 * text of a client.
 */
export type ConnectionHandler = 'client' | 'http' | 'upgrade' | 'member' | 'dialled member'

export class ConnectionErrors {
  readonly #clock: Pick<Clock, 'now'>
  readonly #logger: Logger
  readonly #lines = new LimitedLines()

  constructor({ clock, logger }: { clock: Pick<Clock, 'now'>; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Wraps a handler. If the handler throws, or its promise rejects, `close` closes the connection. `where`
   * names the kind of handler.
   */
  guard<Args extends readonly unknown[]>(
    where: ConnectionHandler,
    handle: (...args: Args) => unknown,
    close: (...args: Args) => void,
  ): (...args: Args) => void {
    const failed = (error: unknown, args: Args) => {
      this.note(where, error)
      try {
        close(...args)
      } catch {
        // If `close` throws, the connection has already been closed.
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

  /** Counts and logs the error of a handler that has closed its connection itself. */
  note(where: ConnectionHandler, error: unknown): void {
    const errors = this.#lines.note(where, this.#clock.now())
    if (errors === undefined) return
    this.#logger.error('an error ended a connection', { where, error: shortError(error), errors })
  }

  /** The number of errors so far, by kind of handler. */
  counts(): ReadonlyMap<string, number> {
    return this.#lines.counts()
  }
}

/** Returns one short line about any thrown value, with the place in the code. Never throws. */
export function shortError(error: unknown): string {
  try {
    const said = error instanceof Error ? `${error.name}: ${error.message}` : `a thrown ${typeof error}`
    const place = error instanceof Error ? codePlace(error) : undefined
    const line = shortText(said)
    return place === undefined ? line : `${line} (${place})`
  } catch {
    return 'an error that cannot be described'
  }
}

/** Returns the file and line in which the error was made, if the stack has them. */
export const codePlace = (error: Error): string | undefined =>
  /\(?([^\s()/]+:\d+:\d+)\)?\s*$/m.exec(stackOf(error))?.[1]

/**
 * Returns the line of the stack that names a place in the code. The error's message comes before the stack
 * and may have several lines.
 */
const stackOf = ({ stack }: Error): string =>
  (stack ?? '').split('\n').find((line) => /^\s+at /.test(line)) ?? ''
