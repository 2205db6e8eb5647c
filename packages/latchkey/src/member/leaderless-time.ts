// Driver: measures for how long this member has known no leader. Other members may refuse this member's
// connection and say that it was removed. This member believes the others only after a time without a leader
// (M12). A member that did not run when it was removed does not find its removal in its own log. No other
// member connects to such a member any more.
//
// Laws:
//   - The time counts only while no leader is known. The time never counts for a member that knows no other
//     members yet, because a joining member waits until the others connect to it.
//   - The result is only a hint for messages to clients. The result causes no vote, no entry and no write,
//     and the next leader cancels it.

import type { Clock, Timer } from '@latchkey/base'

interface LeaderlessTimePorts {
  readonly clock: Clock
  /** In ms. After this time without a leader, this member believes that it was removed. */
  readonly patience: number
  /** Returns true if a leader is known, or if this member knows no other members yet. */
  isCalm(): boolean
  /** Returns the id of a member that says that this member was removed. Undefined if none says so. */
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
