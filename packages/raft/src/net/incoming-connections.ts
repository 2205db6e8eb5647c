// Driver: owns all incoming connections from other members. Their number is limited, and each member has at
// most one.

import { endRefused } from '@latchkey/base'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { MemberId } from '../core/types.js'
import type { NetSettings, NetStats } from './network-settings.js'
import { MEMBERS_PATH } from './frames.js'
import { SOCKET_CAPS } from './websocket-settings.js'
import { isTrusted, whyUntrusted } from './tls.js'
import type { PeerInfo, RefusedEvent } from './transport-interface.js'
import { IncomingConnection, type IncomingConnectionEvents } from './incoming-connection.js'

/**
 * How many connections may be in their handshake at the same time. For each further connection, the oldest of
 * these connections is closed. Otherwise strangers could use up the memory.
 */
const MOST_STRANGERS = 512

type IncomingConnectionsEvents = Pick<IncomingConnectionEvents, 'message' | 'app' | 'received'> & {
  came(info: PeerInfo): void
  refused(event: RefusedEvent, where: string): void
}

export class IncomingConnections {
  readonly #settings: NetSettings
  readonly #events: IncomingConnectionsEvents
  readonly #connectionEvents: IncomingConnectionEvents
  readonly #stats: NetStats
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: false, ...SOCKET_CAPS })
  readonly #strangers = new Set<IncomingConnection>()
  readonly #members = new Map<MemberId, IncomingConnection>()
  readonly #proven = new WeakMap<IncomingConnection, () => void>()
  #closed = false

  constructor(settings: NetSettings, events: IncomingConnectionsEvents, stats: NetStats) {
    this.#settings = settings
    this.#events = events
    this.#stats = stats
    this.#connectionEvents = {
      message: (message) => events.message(message),
      app: (from, bytes) => events.app(from, bytes),
      received: (from, bytes) => events.received(from, bytes),
      refused: (event, where) => events.refused(event, where),
      admitted: (incoming, info) => this.#admitted(incoming, info),
      closed: (incoming) => this.#left(incoming),
    }
  }

  info(id: MemberId): PeerInfo | undefined {
    return this.#members.get(id)?.info
  }

  /** Handles the 'upgrade' event of an HTTP server. Returns false if the request is not for MEMBERS_PATH. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: () => void = () => {}): boolean {
    if ((request.url ?? '').split('?', 1)[0] !== MEMBERS_PATH) return false
    // Browsers send the header `Origin`, and members do not. So a request with this header is refused.
    if (request.headers.origin !== undefined) this.#refuse(socket, '403 Forbidden')
    else if (this.#closed) this.#refuse(socket, '503 Service Unavailable')
    else if (!isTrusted(this.#settings.tls, request.socket)) this.#refuseUntrusted(request.socket, socket)
    else this.#server.handleUpgrade(request, socket, head, this.#entrance(request.socket, proven))
    return true
  }

  /**
   * Returns the handler of a new WebSocket. An error that the handler throws closes that WebSocket and has no
   * other effect.
   */
  #entrance(raw: Socket, proven: () => void): (webSocket: WebSocketOf) => void {
    return this.#settings.errors.guard(
      'member',
      (webSocket: WebSocketOf) => this.#enter(webSocket, raw, proven),
      (webSocket) => webSocket.terminate(),
    )
  }

  #refuse(socket: Duplex, status: string): void {
    const answer = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
    endRefused(socket, answer, this.#settings.clock)
  }

  #refuseUntrusted(raw: Socket, socket: Duplex): void {
    this.#refuse(socket, '401 Unauthorized')
    this.#stats.refused++
    const reason = whyUntrusted(raw)
    this.#events.refused(
      { id: undefined, by: 'us', code: 'ERR_UNAUTHORIZED', reason, info: undefined },
      raw.remoteAddress ?? 'unknown',
    )
  }

  #enter(webSocket: WebSocketOf, raw: Socket, proven: () => void): void {
    if (this.#strangers.size >= MOST_STRANGERS) {
      const [oldest] = this.#strangers
      oldest?.terminate()
    }
    const incoming = new IncomingConnection(
      webSocket,
      raw,
      this.#settings,
      this.#connectionEvents,
      this.#stats,
    )
    this.#strangers.add(incoming)
    this.#proven.set(incoming, proven)
  }

  /** Keeps only the newest connection of each member. */
  #admitted(incoming: IncomingConnection, info: PeerInfo): void {
    this.#strangers.delete(incoming)
    this.#proven.get(incoming)?.()
    this.#members.get(info.id)?.terminate()
    this.#members.set(info.id, incoming)
    this.#events.came(info)
  }

  #left(incoming: IncomingConnection): void {
    this.#strangers.delete(incoming)
    for (const [id, one] of this.#members) if (one === incoming) this.#members.delete(id)
  }

  /**
   * Closes the connection of member `id` if it comes from another process than the process with this `boot`
   * number. Returns the description of that other process, or undefined if no connection was closed.
   */
  sendAway({ id, boot }: PeerInfo): PeerInfo | undefined {
    const incoming = this.#members.get(id)
    const info = incoming?.info
    if (info === undefined || info.boot === boot) return undefined
    this.#members.delete(id)
    incoming?.terminate()
    return info
  }

  recheck(): void {
    for (const incoming of [...this.#members.values()]) incoming.recheck()
  }

  async close(): Promise<void> {
    this.#closed = true
    const all = [...this.#strangers, ...this.#members.values()]
    await Promise.all(all.map((incoming) => incoming.close(1001)))
    this.#server.close()
  }
}

type WebSocketOf = ConstructorParameters<typeof IncomingConnection>[0]
