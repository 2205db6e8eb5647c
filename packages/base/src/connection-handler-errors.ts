// Driver: counts and logs unexpected errors of connection handlers, and closes each connection whose handler
// has failed.
//
// Law: an error in a connection's handler closes that connection and has no other effect. Without this law: a
// client sends a frame that no check foresaw. The handler throws inside an event of the socket, and the error
// ends the whole process.

import type { Clock } from './clock.js'
import { LimitedLines, shortText } from './log-line-rate-limit.js'
import type { Logger } from './logger.js'

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
   * Returns a function that calls `handle`. If `handle` throws or rejects, the error is counted and `close`
   * is called.
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
        // An error of `close` means that the connection is already closed, so the error is ignored.
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

  note(where: ConnectionHandler, error: unknown): void {
    const errors = this.#lines.note(where, this.#clock.now())
    if (errors === undefined) return
    this.#logger.error('an error ended a connection', { where, error: shortError(error), errors })
  }

  counts(): ReadonlyMap<string, number> {
    return this.#lines.counts()
  }
}

/**
 * Returns one short line about any thrown value, with the line of code that threw the error. Never throws.
 */
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

export const codePlace = (error: Error): string | undefined =>
  /\(?([^\s()/]+:\d+:\d+)\)?\s*$/m.exec(stackOf(error))?.[1]

/** Returns the first line of the stack that names a place in the code. */
const stackOf = ({ stack }: Error): string =>
  (stack ?? '').split('\n').find((line) => /^\s+at /.test(line)) ?? ''
