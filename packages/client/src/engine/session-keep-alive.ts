// Driver: owns one timer that keeps a session alive while the session has a user, for example a caller that
// waits for a lock. The timer is not cancelled when the last user ends, because a new user may come soon. If
// the timer fires and the session has no user, nothing is sent.

import type { Timer } from '@latchkey/base'
import type { ActiveLink } from './shared-by-all-calls.js'
import type { Session } from './session.js'

/** In ms, the shortest time to which the timer is set. */
const LEAST = 50

export class KeepAlive {
  readonly #activeLink: ActiveLink
  readonly #session: () => Session | undefined
  readonly #send: () => boolean
  #users = 0
  #underWay: Session | undefined
  #timer: Timer | undefined

  constructor(activeLink: ActiveLink, session: () => Session | undefined, send: () => boolean) {
    this.#activeLink = activeLink
    this.#session = session
    this.#send = send
  }

  get inUse(): boolean {
    return this.#users > 0
  }

  use(): () => void {
    this.#users++
    let using = true
    if (this.#timer === undefined) this.check()
    return () => {
      if (using) this.#users--
      using = false
    }
  }

  check(): void {
    this.stop()
    const session = this.#session()
    if (!this.inUse || !session) return
    const left = session.keepIn(this.#activeLink.clock.instant())
    if (left <= 0 && this.#underWay !== session && this.#send()) this.#underWay = session
    const pause = left > 0 ? left : session.life / 6
    this.#timer = this.#activeLink.clock.after(Math.max(LEAST, pause), () => this.check(), { ref: false })
  }

  /**
   * Called when a keep-alive request has ended. `kept` is true if the session is alive. A keep-alive that was
   * refused is sent again after the pause between retries.
   */
  ended(kept: boolean): void {
    this.#underWay = undefined
    if (kept) this.check()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
