// Driver: writes a log line when another member has been unreachable for ten seconds, and when that member is
// reachable again.
//
// Laws
//   - No line is written about a member that restarts within ten seconds. Without this law: each upgrade
//     fills the log.
//   - No line is written about a member to which this member has had no connection since its own start,
//     because no contact was lost.
//   - One line is written about each absence, however often this member tries to connect.

import type { Clock, Logger, Timer } from '@latchkey/base'

/** In ms. A line is logged after this time without a connection. */
const PATIENCE = 10_000

interface Absence {
  readonly since: number
  readonly timer: Timer
  isLogged: boolean
}

export class AbsentMembers {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #isConnected: (id: string) => boolean
  /** The members that were connected at least once. The value is undefined while a member is connected. */
  readonly #known = new Map<string, Absence | undefined>()

  constructor(clock: Clock, logger: Logger, isConnected: (id: string) => boolean) {
    this.#clock = clock
    this.#logger = logger
    this.#isConnected = isConnected
  }

  /** `ids` are the other members. Call this method after each change of a connection or of the membership. */
  look(ids: readonly string[]): void {
    for (const [id, absence] of this.#known) {
      if (ids.includes(id)) continue
      absence?.timer.cancel()
      this.#known.delete(id)
    }
    for (const id of ids) {
      if (this.#isConnected(id)) this.#isHere(id)
      else if (this.#known.has(id) && this.#known.get(id) === undefined) this.#isAway(id)
    }
  }

  #isHere(id: string): void {
    const absence = this.#known.get(id)
    this.#known.set(id, undefined)
    absence?.timer.cancel()
    if (absence?.isLogged !== true) return
    const absentMillis = Math.round(this.#clock.now() - absence.since)
    this.#logger.warn('another member can be reached again', { id, absentMillis })
  }

  #isAway(id: string): void {
    const tell = () => {
      absence.isLogged = true
      this.#logger.warn('another member cannot be reached: check whether it runs, and check the network', {
        id,
      })
    }
    const timer = this.#clock.after(PATIENCE, tell, { ref: false })
    const absence: Absence = { since: this.#clock.now(), timer, isLogged: false }
    this.#known.set(id, absence)
  }

  close(): void {
    for (const absence of this.#known.values()) absence?.timer.cancel()
    this.#known.clear()
  }
}
