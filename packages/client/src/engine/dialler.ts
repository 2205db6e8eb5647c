// Driver: opens links to members, and ends attempts that take too long.

import type { Clock, Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Dial, LinkEvents } from '../link-interface.js'
import type { LinkState } from './call.js'
import { InFlightRequests } from './in-flight-requests.js'
import type { Route } from './router-interface.js'

interface Attempt {
  readonly stop: AbortController
  readonly timer: Timer
}

export class Dialler {
  readonly #route: Route
  readonly #clock: Clock
  readonly #eventsOf: (live: LinkState) => LinkEvents
  readonly #attempts = new Set<Attempt>()

  /**
   * `eventsOf` returns the handlers for the messages of a link. A handler may be called even before `dial`
   * has passed the link to `arrived`.
   */
  constructor(route: Route, clock: Clock, eventsOf: (live: LinkState) => LinkEvents) {
    this.#route = route
    this.#clock = clock
    this.#eventsOf = eventsOf
  }

  get isDialling(): boolean {
    return this.#attempts.size > 0
  }

  /**
   * Opens a link to a member. Calls `arrived` with the open link, or `failed` with the error. If `url` is
   * undefined, the link goes to the own member of an embedded store. `patience` is the timeout in ms.
   */
  async dial(
    url: string | undefined,
    patience: number,
    arrived: (live: LinkState) => void,
    failed: (error: unknown) => void,
  ): Promise<void> {
    const live: LinkState = {
      url,
      link: undefined,
      inflight: new InFlightRequests(),
      leader: undefined,
      views: 0,
      open: true,
      memberRemoved: undefined,
      cutOff: false,
    }
    const stop = new AbortController()
    const timer = this.#clock.after(patience, () => stop.abort(unreachable(url)))
    const attempt = { stop, timer }
    this.#attempts.add(attempt)
    try {
      live.link = await this.#dialOf(url)(this.#eventsOf(live), stop.signal)
      this.#attempts.delete(attempt)
      if (stop.signal.aborted || !live.open) throw stop.signal.reason ?? unreachable(url)
      arrived(live)
    } catch (error) {
      this.#attempts.delete(attempt)
      shut(live)
      failed(error)
    } finally {
      timer.cancel()
    }
  }

  #dialOf(url: string | undefined): Dial {
    if (!('dial' in this.#route)) return this.#route.dialTo(url as string)
    const { dial, others } = this.#route
    return url === undefined || others === undefined ? dial : others.dialTo(url)
  }

  /** Ends all attempts. */
  stop(): void {
    for (const { stop, timer } of this.#attempts) {
      timer.cancel()
      stop.abort(new LatchkeyError('ERR_CLOSED'))
    }
    this.#attempts.clear()
  }
}

export function shut(live: LinkState): void {
  live.open = false
  live.link?.close()
}

const unreachable = (url: string | undefined) =>
  new LatchkeyError('ERR_NO_LEADER', `${url ?? 'The member'} did not answer the handshake in time.`)
