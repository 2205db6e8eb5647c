// Driver: knows whether this member is ready to serve clients. A member is ready if it began a linearizable
// read less than one and a half election timeouts ago, and the read succeeded. A ready member makes such a
// read twice in an election timeout. A member that is not ready makes such a read four times in an election
// timeout, and also when it learns of a leader.

import type { Clock, Timer } from '@latchkey/base'
import type { Member } from './member.js'

export class Readiness {
  readonly #member: Member
  readonly #clock: Clock
  readonly #electionTimeout: number
  #provenAt = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  readonly #off: () => void

  constructor(member: Member, clock: Clock) {
    this.#member = member
    this.#clock = clock
    const { node } = member.replica
    this.#electionTimeout = node.options.electionTimeout
    this.#off = node.on('role', ({ leader }) => {
      if (leader !== undefined && !this.ready) this.#ask()
    })
    this.#ask()
  }

  /** Becomes false within two election timeouts after the loss of the leader. */
  get ready(): boolean {
    return this.#clock.now() - this.#provenAt < this.#electionTimeout * 1.5
  }

  #ask(): void {
    this.#timer?.cancel()
    const asked = this.#clock.now()
    this.#member.ready().then(
      () => {
        this.#provenAt = asked
      },
      () => {},
    )
    const pause = this.#electionTimeout / (this.ready ? 2 : 4)
    this.#timer = this.#clock.after(pause, () => this.#ask(), { ref: false })
  }

  close(): void {
    this.#off()
    this.#timer?.cancel()
  }
}
