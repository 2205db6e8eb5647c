// Driver: where other members come in and how they are reached; lives as long as the port, while members come and go behind it.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@latchkey/base'
import type { Transport, TransportOwner } from '@latchkey/raft'
import { NullTransport } from './null-transport.js'
import type { Settings } from './options.js'

export class MembersGate {
  readonly #settings: Settings
  readonly #clock: Clock

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  transport(_owner: TransportOwner): Transport {
    if (this.#settings.listen === undefined) return new NullTransport()
    throw new Error(`not connected yet ${this.#clock.now()}`)
  }

  /** False: not a member's. */
  upgrade(_request: IncomingMessage, _socket: Duplex, _head: Buffer): boolean {
    return false
  }
}
