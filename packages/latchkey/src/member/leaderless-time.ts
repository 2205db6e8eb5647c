// Driver: measures how long no leader is known. Other members may refuse the connection of this member and
// report that it was removed. This member believes the report only after a time without a leader (M12). A
// member that was stopped when it was removed never reads of its removal in its own log, and no member
// connects to it any more.
//
// Laws:
//   - the time counts only while no leader is known, and never for a member that knows no members yet: a
//     member that joins waits to be contacted;
//   - the result is only a hint for messages: it causes no vote, no entry and no write, and the next known
//     leader cancels it.

import type { Clock, Timer } from '@latchkey/base'

interface LeaderlessTimePorts {
  readonly clock: Clock
  /** In ms: after this time without a leader the report is believed. */
  readonly patience: number
  /** True when a leader is known, or when this member knows no other members yet. */
  isCalm(): boolean
  /** Returns the member that has reported that this member is not in the cluster any more. */
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
