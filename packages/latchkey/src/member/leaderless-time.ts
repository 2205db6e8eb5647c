// Driver: measures for how long this member has known no leader. A member that did not run during its removal
// has no entry about the removal in its log, and no other member connects to it. When such a member connects
// to others, the others refuse the connection and say that the member was removed. The member believes the
// others only after a time without a leader (M12).
//
// Laws:
//   - The time counts only while no leader is known. No time counts for a joining member, which knows no
//     other members and waits for their connections.
//   - The report of the removal changes only what this member tells clients. The report causes no vote, no
//     log entry and no write. When this member has a leader again, the report no longer counts.

import type { Clock, Timer } from '@latchkey/base'

interface LeaderlessTimePorts {
  readonly clock: Clock
  /** In ms. The time without a leader after which this member believes the others. */
  readonly patience: number
  /** True if a leader is known, or if this member knows no other members. */
  isCalm(): boolean
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
