// Door: clients' WebSockets. A handshake first (cluster, credentials, version), then frames, checked whole before any part is used.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock, Logger } from '@latchkey/base'
import {
  CAPS,
  CLIENT_WIRE,
  decodeHello,
  decodeRequests,
  encodeWelcome,
  errorAnswer,
  type Hello,
  LatchkeyError,
  type LinkReply,
} from '@latchkey/protocol'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { Outbox } from './outbox.js'
import { type AuthOptions, type Right, rightsOf } from './rights.js'
import type { Seat } from './seat.js'

/** Connections of clients at once: refused with 503 beyond. */
const MOST_CONNECTIONS = 10_000
/** A connection that has not said who it is by then is closed. */
const HELLO_MS = 5_000
/** A connection that answers no ping for that long is gone (C8). */
const PING_MS = 10_000

export interface ClientDoorPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly cluster: string
  clusterId(): string
  readonly auth: AuthOptions | undefined
  readonly defer: (run: () => void) => void
  /** A seat for a client with these rights; what it is told goes to `tell`. */
  seat(tell: (reply: LinkReply) => void, allowed: (right: Right) => boolean): Seat
}

export class ClientDoor {
  readonly #ports: ClientDoorPorts
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: CAPS.maxPayload,
    skipUTF8Validation: true,
  })
  readonly #sockets = new Set<WebSocket>()

  constructor(ports: ClientDoorPorts) {
    this.#ports = ports
  }

  get connections(): number {
    return this.#sockets.size
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A browser says where its page came from; no page is a client of ours.
    if (request.headers.origin !== undefined) return refuse(socket, '403 Forbidden')
    if (this.#sockets.size >= MOST_CONNECTIONS) return refuse(socket, '503 Service Unavailable')
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket))
  }

  #accept(socket: WebSocket): void {
    this.#sockets.add(socket)
    socket.binaryType = 'nodebuffer'
    const tooLate = this.#ports.clock.after(HELLO_MS, () => socket.terminate(), { ref: false })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => {
      tooLate.cancel()
      this.#sockets.delete(socket)
    })
    socket.once('message', (data: RawData) => {
      tooLate.cancel()
      this.#greet(socket, data as Buffer)
    })
  }

  #greet(socket: WebSocket, frame: Buffer): void {
    const hello = decodeHello(frame)
    const verdict =
      typeof hello === 'string'
        ? new LatchkeyError('ERR_PROTOCOL', `The handshake was refused: ${hello}.`)
        : this.#judge(hello)
    if (verdict instanceof LatchkeyError) {
      this.#ports.logger.warn('a client was refused', { code: verdict.code, reason: verdict.message })
      socket.send(encodeWelcome({ ok: false, answer: errorAnswer(verdict.code, verdict.message) }))
      return socket.close(1008)
    }
    socket.send(encodeWelcome({ ok: true, version: CLIENT_WIRE.most, clusterId: this.#ports.clusterId() }))
    this.#serve(socket, verdict)
  }

  #judge({ cluster, clusterId, token, least, most }: Hello): readonly Right[] | LatchkeyError {
    if (least > CLIENT_WIRE.most || most < CLIENT_WIRE.least) {
      return new LatchkeyError(
        'ERR_PROTOCOL',
        `The client speaks wire versions ${least} to ${most}, this member ${CLIENT_WIRE.least} to ${CLIENT_WIRE.most}. Update the older one.`,
      )
    }
    if (cluster !== this.#ports.cluster) {
      return new LatchkeyError(
        'ERR_WRONG_CLUSTER',
        `This is cluster ${JSON.stringify(this.#ports.cluster)}, not ${JSON.stringify(cluster)}. Check the address and the cluster's name.`,
      )
    }
    const own = this.#ports.clusterId()
    if (clusterId !== undefined && clusterId !== '' && own !== '' && clusterId !== own) {
      return new LatchkeyError(
        'ERR_WRONG_CLUSTER',
        'This is another cluster of the same name: it was founded or restored anew. Connect again to use it.',
      )
    }
    return rightsOf(this.#ports.auth, token) ?? new LatchkeyError('ERR_UNAUTHORIZED')
  }

  #serve(socket: WebSocket, rights: readonly Right[]): void {
    const outbox = new Outbox({
      write: (frame) => socket.send(frame),
      waiting: () => socket.bufferedAmount,
      overflow: () => {
        this.#ports.logger.warn('a client does not read what it asked for; its connection is closed')
        socket.terminate()
      },
      defer: this.#ports.defer,
    })
    const seat = this.#ports.seat(
      (reply) => outbox.tell(reply),
      (right) => rights.includes(right),
    )
    this.#watchPulse(socket)
    socket.on('message', (data: RawData) => {
      const requests = decodeRequests(data as Buffer)
      if (typeof requests === 'string') {
        this.#ports.logger.warn('a frame of a client was refused', { reason: requests })
        return socket.close(1002)
      }
      for (const request of requests) seat.send(request)
    })
    socket.on('close', () => seat.close())
  }

  #watchPulse(socket: WebSocket): void {
    let alive = true
    socket.on('pong', () => {
      alive = true
    })
    const beat = () => {
      if (!alive) return socket.terminate()
      alive = false
      socket.ping()
      timer = this.#ports.clock.after(PING_MS, beat, { ref: false })
    }
    let timer = this.#ports.clock.after(PING_MS, beat, { ref: false })
    socket.on('close', () => timer.cancel())
  }

  close(): void {
    for (const socket of this.#sockets) socket.close(1001)
    for (const socket of this.#sockets) this.#ports.clock.after(500, () => socket.terminate(), { ref: false })
    this.#server.close()
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
}
