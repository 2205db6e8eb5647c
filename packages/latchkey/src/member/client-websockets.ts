// Door: the WebSockets of clients. A client first sends a handshake with the cluster's name, its credentials
// and its protocol versions. Then the client sends frames with requests. The member checks the whole frame
// before it uses any part of the frame.

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
import { FrameScan } from './incomplete-websocket-message-bytes.js'
import { Outbox } from './replies-to-connection.js'
import type { UnreadBytesLimit } from './unread-bytes-limit.js'
import { ANONYMOUS, type Identity } from './identity-and-rights.js'
import type { ClientConnection } from './client-connection.js'
import type { ClientLog } from './client-connections-log.js'
import type { UnfinishedMessagesLimit, WhyEnded } from './unfinished-messages-limit.js'

/** In ms. After this time without a complete handshake, the connection is closed. */
const HELLO_MS = 5_000
/**
 * In ms, the time between two pings. A client that sends nothing between two pings is disconnected, because
 * its machine may have vanished (C8).
 */
const PING_MS = 10_000

/** Counts the connection as a client. Returns false if the member has no room for one more. */
type AdmitClient = (kind: 'client') => boolean

interface Arrival {
  readonly address: string
  readonly admitClient: AdmitClient
  readonly identify: (token: string | undefined) => Identity | LatchkeyError
}

interface ClientWebSocketsPorts {
  readonly clock: Clock
  readonly errors: ConnectionErrors
  readonly refusals: RefusalLog
  readonly log: ClientLog
  readonly unreadBytes: UnreadBytesLimit
  readonly unfinished: UnfinishedMessagesLimit
  readonly cluster: string
  clusterId(): string
  /**
   * The index of the last applied entry, which is read when a client connects. The id of a session is the
   * index of the entry that opened the session. So a session with an id up to this index was opened before
   * the client connected here.
   */
  applied(): number
  readonly defer: (run: () => void) => void
  /**
   * The reason why this member serves no clients now, for example because it was removed. The client then
   * connects to another member.
   */
  refusal(): LatchkeyError | undefined
  clientConnection(tell: (reply: LinkReply) => void, identity: Identity): ClientConnection
}

/** How many fragments one WebSocket message may have. The clients of this project send one fragment. */
const MOST_FRAGMENTS = 64
const CLOSE_BUSY = 1013
const WHY_ENDED: Readonly<Record<WhyEnded, string>> = {
  busy: 'ERR_BUSY: this member has too many bytes of incomplete messages; try again later',
  slow: 'ERR_BUSY: the message came too slowly; send at least 64 KiB a second',
}

/**
 * In ms. A refused client has this long to answer the close frame. The types of the library ws lack this
 * option, so a spread adds the option.
 */
const CLOSE_OPTIONS = { closeTimeout: REFUSED_MS }

export class ClientWebSockets {
  readonly #ports: ClientWebSocketsPorts
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: CAPS.maxPayload,
    // A fragment needs more memory than its bytes, so maxPayload alone would not limit the memory.
    maxFragments: MOST_FRAGMENTS,
    skipUTF8Validation: true,
    ...CLOSE_OPTIONS,
  })
  /** The identity is undefined until the handshake is complete. */
  readonly #sockets = new Map<WebSocket, Identity | undefined>()

  /**
   * The sockets that have sent bytes since the last ping. A client cannot answer a ping while it sends a long
   * message, so any byte counts as an answer.
   */
  readonly #active = new WeakSet<WebSocket>()

  constructor(ports: ClientWebSocketsPorts) {
    this.#ports = ports
  }

  get connections(): number {
    return this.#sockets.size
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, arrival: Arrival): void {
    // Only a browser sends an Origin header, and a web page must not use this port.
    if (request.headers.origin !== undefined) {
      this.#note('origin', 'a web page in a browser asked for a WebSocket')
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
        this.#active.add(socket)
        unfinished.received(sender, scan.read(bytes))
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

  #judge(hello: Hello, { admitClient, identify }: Arrival): Identity | LatchkeyError {
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
    return admitClient('client') ? identity : tooManyClients()
  }

  #serve(socket: WebSocket, identity: Identity, address: string): void {
    const logged = this.#ports.log.connected(identity.name, address)
    const applied = this.#ports.applied()
    socket.send(encodeWelcome({ ok: true, version: CLIENT_WIRE.most, clusterId: this.#ports.clusterId() }))
    const outbox = this.#outbox(socket, () => clientConnection.close())
    const clientConnection = this.#ports.clientConnection(
      // A release by another client can grant a lock to this client. The member then sends this reply while
      // it handles the other client's request. If the reply throws an error, only this connection must end.
      this.#guard(socket, (reply: LinkReply) => outbox.tell(reply)),
      identity,
    )
    this.#watchPulse(socket)
    socket.on(
      'message',
      this.#guard(socket, (data: RawData) =>
        this.#handleFrame(socket, clientConnection, data as Buffer, (session) => {
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

  /** If the handler throws, only this connection is closed. */
  #guard<Args extends readonly unknown[]>(socket: WebSocket, handle: (...args: Args) => void) {
    return this.#ports.errors.guard('client', handle, () => this.#fail(socket))
  }

  #fail(socket: WebSocket): void {
    socket.removeAllListeners('message')
    socket.close(1011, 'an error in this member; the log of the member describes it')
  }

  /**
   * If the client does not read its replies, the member's limit of unread bytes closes the socket and calls
   * `close`. The reads of the client then end too.
   */
  #outbox(socket: WebSocket, close: () => void): Outbox {
    const { unreadBytes, defer } = this.#ports
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
      unreadBytes.left(reader)
    }
    socket.on('close', this.#guard(socket, left))
    const write = (frame: Uint8Array) => {
      if (isOpen) socket.send(frame)
    }
    const deferGuarded = (run: () => void) => defer(this.#guard(socket, run))
    return new Outbox({ write, wrote: () => isOpen && unreadBytes.wrote(reader), defer: deferGuarded })
  }

  #handleFrame(
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
      if (!this.#active.delete(socket)) return socket.terminate()
      socket.ping()
      timer = this.#ports.clock.after(PING_MS, beat, { ref: false })
    })
    this.#active.add(socket)
    let timer = this.#ports.clock.after(PING_MS, beat, { ref: false })
    socket.on('close', () => timer.cancel())
  }

  /**
   * Closes the connections whose token or certificate was removed or changed. The client learns the reason
   * when it connects again.
   */
  keepOnly(isKnown: (who: Identity) => boolean): void {
    for (const [socket, who] of this.#sockets) {
      if (who === undefined || isKnown(who)) continue
      this.#note('reload', `the rights of ${who.name} were changed or taken back`)
      socket.close(1008, 'ERR_UNAUTHORIZED: these credentials were changed or taken back')
    }
  }

  sendAway(): void {
    for (const socket of this.#sockets.keys()) socket.close(1001)
  }

  close(): void {
    this.sendAway()
    this.#server.close()
  }
}

/** Without tokens, the logs name clients by their addresses. */
const named = (who: Identity, address: string): Identity =>
  who === ANONYMOUS ? { ...who, name: `anonymous at ${address}` } : who

const tooManyClients = () =>
  new LatchkeyError(
    'ERR_BUSY',
    'This member has reached its limit of client connections, or the limit for your address. Close some connections, use another member, or raise --max-connections.',
  )
