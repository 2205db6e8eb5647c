// Driver: writes a log line at level info when a client connects, when it disconnects, and when its session
// moves to this member.
//
// Law: these lines are limited in number and length. Without this law: a client connects and disconnects a
// thousand times a second, and fills the disk with log lines within a day.

import { type Clock, LimitedLines, type Logger, shortText } from '@latchkey/base'

/** At most ten lines of each kind in a minute. So a cluster with few clients still logs every client. */
const LINES = { most: 10, every: 60_000 } as const

/** The WebSocket status codes of a close without a fault, for example at the end of the client's process. */
const CLOSED_IN_ORDER: ReadonlySet<number> = new Set([1000, 1001, 1005])

interface LoggedClient {
  /** Called when the client uses a session that was opened over another connection. */
  movedHere(session: number): void
  gone(code: number): void
}

export class ClientLog {
  readonly #clock: Pick<Clock, 'now'>
  readonly #logger: Logger
  readonly #lines = new LimitedLines(LINES)

  constructor({ clock, logger }: { clock: Pick<Clock, 'now'>; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
  }

  connected(client: string, address: string): LoggedClient {
    const began = this.#clock.now()
    const who = { client: shortText(client), address }
    let hasMoved = false
    this.#write('connected', 'a client connected', who)
    return {
      movedHere: (session) => {
        if (!hasMoved) this.#write('moved', 'a client moved here with its session', { ...who, session })
        hasMoved = true
      },
      gone: (code) => {
        const seconds = Math.round((this.#clock.now() - began) / 1000)
        if (CLOSED_IN_ORDER.has(code)) this.#write('left', 'a client left', { ...who, seconds })
        else this.#write('lost', 'a client was lost', { ...who, seconds, code })
      },
    }
  }

  /** `times` in a line is the number of events since the last line of the same kind. */
  #write(kind: string, message: string, fields: Readonly<Record<string, unknown>>): void {
    const times = this.#lines.note(kind, this.#clock.now())
    if (times !== undefined) this.#logger.info(message, times > 1 ? { ...fields, times } : fields)
  }
}
