// Driver: one timer that keeps a session alive while it is in use. Lock timers do not keep a process alive. One that is set stays when
// nobody uses the session any more: it finds that out itself, and the next user finds it set.

import type { Timer } from '@latchkey/base'
import type { ActiveLink } from './active-link.js'
import type { Session } from './session.js'

const LEAST = 50

export class KeepAlive {
  readonly #activeLink: ActiveLink
  readonly #session: () => Session | undefined
  readonly #send: () => boolean
  #users = 0
  /** The session for which one is under way. */
  #underWay: Session | undefined
  #timer: Timer | undefined

  /** `send` says whether a keep-alive is on its way now. */
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

  /** Sends one if it is due, and sets the timer for the next. */
  check(): void {
    this.stop()
    const session = this.#session()
    if (!this.inUse || !session) return
    const left = session.keepIn(this.#activeLink.clock.instant())
    if (left <= 0 && this.#underWay !== session && this.#send()) this.#underWay = session
    const pause = left > 0 ? left : session.life / 6
    this.#timer = this.#activeLink.clock.after(Math.max(LEAST, pause), () => this.check(), { ref: false })
  }

  /** `kept`: the session lives on. One that was refused is due again, but not before the pause between tries is over. */
  ended(kept: boolean): void {
    this.#underWay = undefined
    if (kept) this.check()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
