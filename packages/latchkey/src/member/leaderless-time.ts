// Driver: owns the time without a leader, behind which what the others said at their doors counts: a member that was stopped when it
// was removed never reads of it in its own log, and nobody calls on it any more (M12).
//
// Laws
//   - it counts only while no leader is known, and never for one that knows no members yet: who joins waits to be called on
//   - it is a hint, for words alone: nothing is voted, applied or written by it, and the next leader that is heard of undoes it

import type { Clock, Timer } from '@latchkey/base'

export interface LeaderlessTimePorts {
  readonly clock: Clock
  /** ms without a leader, at least. */
  readonly patience: number
  /** A leader is known, or there is nobody yet who could know better. */
  isCalm(): boolean
  /** Whose cluster goes on without this member, by its own word. */
  missedBy(): string | undefined
  tell(by: string): void
}

export class LeaderlessTime {
  readonly #ports: LeaderlessTimePorts
  #timer: Timer
  #wasCalm = true

  constructor(ports: LeaderlessTimePorts) {
    this.#ports = ports
    this.#timer = this.#arm()
  }

  #arm(): Timer {
    return this.#ports.clock.after(this.#ports.patience, () => this.#look(), { ref: false })
  }

  #look(): void {
    this.#timer = this.#arm()
    const wasCalm = this.#wasCalm
    this.#wasCalm = this.#ports.isCalm()
    const by = wasCalm || this.#wasCalm ? undefined : this.#ports.missedBy()
    if (by !== undefined) this.#ports.tell(by)
  }

  close(): void {
    this.#timer.cancel()
  }
}
