// Driver: accepts the connections of other members and connects to other members. If the member in this
// process is closed and opened again, the new member uses the same ConnectionsOfMembers object.

import { randomInt } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Clock, type ConnectionErrors, type Defer, type RefusalLog, seededRandom } from '@latchkey/base'
import { MEMBERS_PATH, MemberNetwork, type Transport, type TransportOwner } from '@latchkey/raft'
import { refuseUpgrade } from './http-and-websocket-server.js'
import { memberTokens, whyNoMembers } from './choose-member-proof.js'
import type { Settings } from './options.js'

/** The newest version of commands and entries that this build understands. Members exchange this number. */
const LEVEL = 1

export class ConnectionsOfMembers {
  /** Returns the present settings, because certificates and tokens can change while the member runs. */
  readonly #settings: () => Settings
  readonly #clock: Clock
  readonly #atEnd: Defer
  readonly #refusals: RefusalLog
  readonly #errors: ConnectionErrors
  #network: MemberNetwork | undefined

  constructor(
    settings: () => Settings,
    clock: Clock,
    atEnd: Defer,
    refusals: RefusalLog,
    errors: ConnectionErrors,
  ) {
    this.#settings = settings
    this.#clock = clock
    this.#atEnd = atEnd
    this.#refusals = refusals
    this.#errors = errors
  }

  transport(owner: TransportOwner): Transport {
    const settings = this.#settings
    const { id, cluster, logger } = settings()
    const boot = randomInt(1, 2 ** 47)
    this.#network = new MemberNetwork({
      clock: this.#clock,
      random: seededRandom(boot),
      defer: this.#atEnd,
      logger,
      refusals: this.#refusals,
      errors: this.#errors,
      self: () => ({
        cluster,
        id,
        boot,
        group: 0,
        level: LEVEL,
        tokens: memberTokens(settings().auth),
        ...owner.identity(),
      }),
      admit: (info) => owner.admit(info),
      missing: (id) => owner.missing(id),
      get tls() {
        return settings().tls
      },
    })
    return this.#network
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: () => void): boolean {
    if (whyNoMembers(this.#settings()) !== undefined && isForMembers(request)) {
      refuseUpgrade(socket, '401 Unauthorized', this.#clock)
      return true
    }
    return this.#network?.upgrade(request, socket, head, proven) ?? false
  }
}

const isForMembers = ({ url = '' }: IncomingMessage): boolean => url.split('?', 1)[0] === MEMBERS_PATH
