// Driver: remembers since when each other member has been connected or disconnected, for `status`. If
// `status` always shows a short time for a connection, that connection breaks again and again.

import type { Clock } from '@latchkey/base'
import type { MemberId, Transport } from '@latchkey/raft'

interface ConnectionState {
  readonly connected: boolean
  readonly at: number
}

export class ConnectionTimes {
  readonly #clock: Clock
  readonly #transport: Transport
  readonly #openedAt: number
  readonly #since = new Map<MemberId, ConnectionState>()

  constructor(clock: Clock, transport: Transport) {
    this.#clock = clock
    this.#transport = transport
    this.#openedAt = clock.now()
    transport.on('peer', ({ id }) => void this.#look(id))
  }

  get uptimeMillis(): number {
    return this.#clock.now() - this.#openedAt
  }

  /**
   * Returns for how many ms the member `id` has been connected, or has been disconnected. The caller reads
   * `uptimeMillis` once for each status and passes the same number for all members. If this function read the
   * clock again, the result could be greater than the uptime that the same status shows.
   */
  millisOf(id: MemberId, uptimeMillis: number): number {
    return Math.max(0, uptimeMillis - (this.#look(id).at - this.#openedAt))
  }

  keepOnly(ids: readonly MemberId[]): void {
    for (const id of this.#since.keys()) if (!ids.includes(id)) this.#since.delete(id)
  }

  #look(id: MemberId): ConnectionState {
    const connected = this.#transport.connected(id)
    const known = this.#since.get(id) ?? { connected: false, at: this.#openedAt }
    const since = known.connected === connected ? known : { connected, at: this.#clock.now() }
    this.#since.set(id, since)
    return since
  }
}
