// Door: the WebSockets of clients. The handshake (cluster, credentials, version) comes first, then the
// frames. Each frame is checked as a whole before any part of it is used.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Clock, type ConnectionErrors, endRefused, type RefusalLog, REFUSED_MS } from '@latchkey/base'
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
  show,
} from '@latchkey/protocol'
import { GREETING_LIMIT, watchStranger } from '@latchkey/raft'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { FrameScan } from './websocket-frame-scan.js'
import { Outbox } from './replies-to-connection.js'
import type { Outboxes } from './unread-bytes-limit.js'
import { ANONYMOUS, type Identity } from './rights.js'
import type { ClientConnection } from './client-connection.js'
import type { ClientLog } from './client-log.js'
import type { Unfinished, WhyEnded } from './unfinished-messages-limit.js'

/** In ms. A connection without a completed handshake is closed after this time. */
const HELLO_MS = 5_000
/**
 * In ms. A connection that sends nothing for this time after a ping is closed. The other side may have
 * vanished without closing the connection (C8).
 */
const PING_MS = 10_000

/** Takes one of the places for clients. Returns false if no place is free. */
type HasPlace = (kind: 'client') => boolean

interface Arrival {
  readonly address: string
  readonly hasPlace: HasPlace
  /**
   * Returns the identity that belongs to the token or to the certificate of the connection, or an error if
   * there is none.
   */
  readonly identify: (token: string | undefined) => Identity | LatchkeyError
}

interface ClientDoorPorts {
  readonly clock: Clock
  readonly errors: ConnectionErrors
  readonly refusals: RefusalLog
  readonly log: ClientLog
  readonly outboxes: Outboxes
  readonly unfinished: Unfinished
  readonly cluster: string
  clusterId(): string
  /** The index of the last entry that this member has applied. A session has the index of its first entry. */
  applied(): number
  readonly defer: (run: () => void) => void
  /** Returns the reason why this member serves no client now. The client then goes to another member. */
  refusal(): LatchkeyError | undefined
  /** Creates the connection object of a client, whose replies go to `tell`. */
  clientConnection(tell: (reply: LinkReply) => void, identity: Identity): ClientConnection
}

/** In fragments, the most of one message. Clients of this project send each message as one fragment. */
const MOST_FRAGMENTS = 64
/** The WebSocket status "try again later". */
const CLOSE_BUSY = 1013
const WHY_ENDED: Readonly<Record<WhyEnded, string>> = {
  busy: 'ERR_BUSY: too much of messages that are not whole; try again later',
  slow: 'ERR_BUSY: the message did not go on; it needs 64 KiB a second',
}

/**
 * The time that a refused peer may take to answer the close. The library ws has this option, but its types do
 * not name it.
 */
const GOODBYE = { closeTimeout: REFUSED_MS }

export class ClientDoor {
  readonly #ports: ClientDoorPorts
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: CAPS.maxPayload,
    // Each fragment costs more memory than its bytes.
    maxFragments: MOST_FRAGMENTS,
    skipUTF8Validation: true,
    ...GOODBYE,
  })
  /** Each socket with its identity, which is undefined before the handshake. */
  readonly #sockets = new Map<WebSocket, Identity | undefined>()

  /**
   * Sockets that have sent something since the last ping. A client cannot answer a ping while it sends
   * a long message.
   */
  readonly #heard = new WeakSet<WebSocket>()

  constructor(ports: ClientDoorPorts) {
    this.#ports = ports
  }

  get connections(): number {
    return this.#sockets.size
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, arrival: Arrival): void {
    // A browser sends the origin of its page, and no page is a client of this port.
    if (request.headers.origin !== undefined) {
      this.#note('origin', 'a page of a browser asked for a WebSocket')
      return endRefused(socket, 'HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n', this.#ports.clock)
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#accept(webSocket, socket, arrival)
    })
  }

  #accept(socket: WebSocket, raw: Duplex, arrival: Arrival): void {
    this.#sockets.set(socket, undefined)
    socket.binaryType = 'nodebuffer'
    const greeted = watchStranger(socket, raw)
    this.#watchMessages(socket, raw)
    const tooLate = this.#ports.clock.after(HELLO_MS, () => socket.terminate(), { ref: false })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => {
      tooLate.cancel()
      this.#sockets.delete(socket)
    })
    const greet = (data: RawData) => {
      tooLate.cancel()
      greeted()
      this.#greet(socket, data as Buffer, arrival)
    }
    socket.once('message', this.#guard(socket, greet))
  }

  /** Counts the bytes of a message that ws has received in part. The sum over all connections is limited. */
  #watchMessages(socket: WebSocket, raw: Duplex): void {
    const { unfinished } = this.#ports
    const scan = new FrameScan()
    const sender = {
      end: (why: WhyEnded) => {
        socket.removeAllListeners('message')
        socket.close(CLOSE_BUSY, WHY_ENDED[why])
      },
      destroy: () => socket.terminate(),
    }
    raw.on(
      'data',
      this.#guard(socket, (bytes: Uint8Array) => {
        this.#heard.add(socket)
        unfinished.heard(sender, scan.read(bytes))
      }),
    )
    raw.once('close', () => unfinished.left(sender))
  }

  #greet(socket: WebSocket, frame: Buffer, arrival: Arrival): void {
    const hello = frame.length > GREETING_LIMIT ? 'it is too long' : decodeHello(frame)
    const verdict =
      typeof hello === 'string'
        ? new LatchkeyError('ERR_PROTOCOL', `The handshake was refused: ${hello}.`)
        : this.#judge(hello, arrival)
    if (verdict instanceof LatchkeyError) {
      this.#note(verdict.code, verdict.message)
      socket.send(encodeWelcome({ ok: false, answer: errorAnswer(verdict.code, verdict.message) }))
      return socket.close(1008)
    }
    this.#sockets.set(socket, verdict)
    this.#serve(socket, named(verdict, arrival.address), arrival.address)
  }

  #note(kind: string, reason: string): void {
    this.#ports.refusals.note('clients', kind, 'a client was refused', { reason })
  }

  #judge(hello: Hello, { hasPlace, identify }: Arrival): Identity | LatchkeyError {
    const { cluster, clusterId, token, least, most } = hello
    if (least > CLIENT_WIRE.most || most < CLIENT_WIRE.least) {
      return new LatchkeyError(
        'ERR_PROTOCOL',
        `The client speaks wire versions ${least} to ${most}, this member ${CLIENT_WIRE.least} to ${CLIENT_WIRE.most}. Update the older one.`,
      )
    }
    if (cluster !== this.#ports.cluster) {
      return new LatchkeyError(
        'ERR_WRONG_CLUSTER',
        `This is cluster ${JSON.stringify(this.#ports.cluster)}, not ${show(cluster)}. Check the address and the cluster's name.`,
      )
    }
    const own = this.#ports.clusterId()
    if (clusterId !== undefined && clusterId !== '' && own !== '' && clusterId !== own) {
      return new LatchkeyError(
        'ERR_WRONG_CLUSTER',
        'This is another cluster of the same name: it was founded or restored anew. Connect again to use it.',
      )
    }
    const identity = identify(token)
    if (identity instanceof LatchkeyError) return identity
    const refusal = this.#ports.refusal()
    if (refusal !== undefined) return refusal
    return hasPlace('client') ? identity : noPlace()
  }

  #serve(socket: WebSocket, identity: Identity, address: string): void {
    const logged = this.#ports.log.connected(identity.name, address)
    const applied = this.#ports.applied()
    socket.send(encodeWelcome({ ok: true, version: CLIENT_WIRE.most, clusterId: this.#ports.clusterId() }))
    const outbox = this.#outbox(socket, () => clientConnection.close())
    const clientConnection = this.#ports.clientConnection(
      // Code of other connections calls this function. An error that it throws must not end those
      // connections.
      this.#guard(socket, (reply: LinkReply) => outbox.tell(reply)),
      identity,
    )
    this.#watchPulse(socket)
    socket.on(
      'message',
      this.#guard(socket, (data: RawData) =>
        this.#hear(socket, clientConnection, data as Buffer, (session) => {
          if (session > 0 && session <= applied) logged.movedHere(session)
        }),
      ),
    )
    socket.on(
      'close',
      this.#guard(socket, (code: number) => {
        logged.gone(code)
        clientConnection.close()
      }),
    )
  }

  /** An error in a handler of this connection ends this connection only. */
  #guard<Args extends readonly unknown[]>(socket: WebSocket, handle: (...args: Args) => void) {
    return this.#ports.errors.guard('client', handle, () => this.#fail(socket))
  }

  /** Reads no further messages, sends the reason, and waits only a short time until the client closes. */
  #fail(socket: WebSocket): void {
    socket.removeAllListeners('message')
    socket.close(1011, 'an error in this member: its log tells which')
  }

  /** `close` also ends the reads of the client. It is called for a client that does not read its answers. */
  #outbox(socket: WebSocket, close: () => void): Outbox {
    const { outboxes, defer } = this.#ports
    let isOpen = true
    const reader = {
      waiting: () => socket.bufferedAmount,
      close: () => {
        isOpen = false
        socket.terminate()
        close()
      },
    }
    const left = () => {
      isOpen = false
      outboxes.left(reader)
    }
    socket.on('close', this.#guard(socket, left))
    const write = (frame: Uint8Array) => {
      if (isOpen) socket.send(frame)
    }
    const deferGuarded = (run: () => void) => defer(this.#guard(socket, run))
    return new Outbox({ write, wrote: () => isOpen && outboxes.wrote(reader), defer: deferGuarded })
  }

  /** Handles a frame. If the socket closes meanwhile, the other requests of the frame are not begun. */
  #hear(
    socket: WebSocket,
    clientConnection: ClientConnection,
    frame: Buffer,
    attached: (session: number) => void,
  ): void {
    const requests = decodeRequests(frame)
    if (typeof requests === 'string') {
      this.#note('frame', requests)
      return socket.close(1002)
    }
    for (const request of requests) {
      if (socket.readyState !== socket.OPEN) return
      if (request.kind === 'attach') attached(request.session)
      clientConnection.send(request)
    }
  }

  #watchPulse(socket: WebSocket): void {
    const beat = this.#guard(socket, () => {
      if (!this.#heard.delete(socket)) return socket.terminate()
      socket.ping()
      timer = this.#ports.clock.after(PING_MS, beat, { ref: false })
    })
    this.#heard.add(socket)
    let timer = this.#ports.clock.after(PING_MS, beat, { ref: false })
    socket.on('close', () => timer.cancel())
  }

  /**
   * Closes the connections whose token or certificate is not valid any more. The client learns the reason
   * when it connects again.
   */
  keepOnly(isKnown: (who: Identity) => boolean): void {
    for (const [socket, who] of this.#sockets) {
      if (who === undefined || isKnown(who)) continue
      this.#note('reload', `the rights of ${who.name} were changed or taken back`)
      socket.close(1008, 'ERR_UNAUTHORIZED: these credentials were changed or taken back')
    }
  }

  /** Closes all connections. The clients go to another member, or come back. */
  sendAway(): void {
    for (const socket of this.#sockets.keys()) socket.close(1001)
  }

  close(): void {
    this.sendAway()
    this.#server.close()
  }
}

/** Without tokens, clients can be told apart by their addresses only. */
const named = (who: Identity, address: string): Identity =>
  who === ANONYMOUS ? { ...who, name: `anonymous at ${address}` } : who

const noPlace = () =>
  new LatchkeyError(
    'ERR_BUSY',
    'This member has as many connections of clients, or of clients of your address, as it may. Close some, use another member, or raise --max-connections.',
  )
