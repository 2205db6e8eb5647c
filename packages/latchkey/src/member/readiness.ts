// Driver: whether this member can serve now: a linearizable read proves it, asked for a few times in an election timeout.

import type { Clock, Timer } from '@latchkey/base'
import type { Member } from './member.js'

export class Readiness {
  readonly #member: Member
  readonly #clock: Clock
  readonly #every: number
  #provenAt = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined

  constructor(member: Member, clock: Clock) {
    this.#member = member
    this.#clock = clock
    this.#every = member.replica.node.options.electionTimeout / 4
    this.#ask()
  }

  /** False at the latest two election timeouts after the leader was lost. */
  get ready(): boolean {
    return this.#clock.now() - this.#provenAt < this.#every * 6
  }

  #ask(): void {
    const asked = this.#clock.now()
    this.#member.ready().then(
      () => {
        this.#provenAt = asked
      },
      () => {},
    )
    this.#timer = this.#clock.after(this.#every, () => this.#ask(), { ref: false })
  }

  close(): void {
    this.#timer?.cancel()
  }
}
