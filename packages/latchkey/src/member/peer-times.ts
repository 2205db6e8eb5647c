// Driver: remembers since when each other member has been connected or disconnected, so that `status` can
// tell the age of a connection. A connection that is always young breaks again and again.

import type { Clock } from '@latchkey/base'
import type { MemberId, Transport } from '@latchkey/raft'

interface Since {
  readonly connected: boolean
  readonly at: number
}

export class PeerTimes {
  readonly #clock: Clock
  readonly #transport: Transport
  readonly #openedAt: number
  readonly #since = new Map<MemberId, Since>()

  constructor(clock: Clock, transport: Transport) {
    this.#clock = clock
    this.#transport = transport
    this.#openedAt = clock.now()
    transport.on('peer', ({ id }) => void this.#look(id))
  }

  /** For how long this member has been open. */
  get uptimeMillis(): number {
    return this.#clock.now() - this.#openedAt
  }

  /**
   * For how many milliseconds that member has been connected or disconnected. The number is never greater than
   * `uptimeMillis`, because this member knows nothing of the time before it was opened.
   */
  millisOf(id: MemberId): number {
    return this.#clock.now() - this.#look(id).at
  }

  /** Forgets the members that are not in this list. */
  keepOnly(ids: readonly MemberId[]): void {
    for (const id of this.#since.keys()) if (!ids.includes(id)) this.#since.delete(id)
  }

  #look(id: MemberId): Since {
    const connected = this.#transport.connected(id)
    const known = this.#since.get(id) ?? { connected: false, at: this.#openedAt }
    const since = known.connected === connected ? known : { connected, at: this.#clock.now() }
    this.#since.set(id, since)
    return since
  }
}
