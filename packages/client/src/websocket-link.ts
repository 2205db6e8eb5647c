// Driver: owns one WebSocket to a member. The link makes the handshake, sends the requests of one turn of the
// event loop together, in frames of at most MOST_IN_FRAME requests, and sends pings. The pings show whether
// the member has vanished without closing the connection (C8).

import type { Socket } from 'node:net'
import { type Clock, shortError, type Timer } from '@latchkey/base'
import {
  CAPS,
  CLIENTS_PATH,
  CLIENT_WIRE,
  type LinkRequest,
  LatchkeyError,
  MOST_IN_FRAME,
  type Welcome,
  decodeReplies,
  decodeWelcome,
  encodeHello,
  encodeRequests,
  errorOf,
  noMask,
} from '@latchkey/protocol'
import { WebSocket } from 'ws'
import type { ClientTls } from './connect-options.js'
import type { Dial, Link, LinkEvents } from './link-interface.js'

interface SocketOptions {
  readonly clock: Clock
  readonly cluster: string
  readonly token: string | undefined
  readonly tls: ClientTls | undefined
  /** The cluster's id from an earlier handshake. All sockets of one store share this object. */
  readonly identity: { clusterId: string | undefined }
}

/**
 * In ms, the interval of the pings. If the member sends nothing in the interval after a ping, the link is
 * closed.
 */
const PULSE = 2_500
const HANDSHAKE_TIMEOUT = 3_000
/**
 * In bytes: how much may wait in the socket. If more bytes wait, the store assumes that the member does not
 * read, and leaves the member.
 */
const MOST_WAITING = 256 * 1024 * 1024

export function socketDial(url: string, options: SocketOptions): Dial {
  return (events, signal) =>
    new Promise((resolve, reject) => new SocketLink(url, options, events, signal, resolve, reject))
}

type State = 'greeting' | 'open' | 'over'

class SocketLink implements Link {
  readonly #url: string
  readonly #options: SocketOptions
  readonly #events: LinkEvents
  readonly #socket: WebSocket
  readonly #signal: AbortSignal
  readonly #abort = () => this.#end(this.#signal.reason as Error)
  readonly #resolve: (link: Link) => void
  readonly #reject: (error: unknown) => void
  #state: State = 'greeting'
  #outbox: LinkRequest[] = []
  #isAlive = true
  #pulse: Timer | undefined
  /**
   * The socket below the WebSocket counts received bytes, so that even a part of a long message is a sign of
   * life.
   */
  #raw: Socket | undefined

  constructor(
    url: string,
    options: SocketOptions,
    events: LinkEvents,
    signal: AbortSignal,
    resolve: (link: Link) => void,
    reject: (error: unknown) => void,
  ) {
    this.#url = url
    this.#options = options
    this.#events = events
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    this.#socket = new WebSocket(addressOf(url), {
      perMessageDeflate: false,
      generateMask: noMask,
      skipUTF8Validation: true,
      maxPayload: CAPS.maxPayload,
      handshakeTimeout: HANDSHAKE_TIMEOUT,
      ...tlsOf(options.tls),
    })
    this.#socket.binaryType = 'nodebuffer'
    this.#listen()
  }

  #listen(): void {
    const socket = this.#socket
    const guarded = this.#guarded.bind(this)
    const open = guarded(() => socket.send(encodeHello(this.#hello())))
    const hear = guarded((frame: Buffer) => this.#received(frame))
    const refused = guarded((_request: unknown, { statusCode }: { statusCode?: number | undefined }) =>
      this.#end(refusedBy(this.#url, statusCode)),
    )
    const failed = guarded((error: Error) => this.#end(unreachable(this.#url, error)))
    const closed = guarded((code: number) =>
      this.#end(unreachable(this.#url, `the connection was closed (${code})`)),
    )
    socket.on('upgrade', (response) => {
      this.#raw = response.socket
    })
    socket.on('open', open)
    socket.on('message', hear)
    socket.on('pong', () => {
      this.#isAlive = true
    })
    socket.on('unexpected-response', refused)
    socket.on('error', failed)
    socket.on('close', closed)
    if (this.#signal.aborted) this.#abort()
    else this.#signal.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * Law: an error thrown in a handler of this connection ends this link, and never the process. Without this
   * law: a server sends something that no check foresaw, and the application that called connect() crashes.
   * The listener of the link gets the error. If the listener also throws an error, the second error is
   * dropped.
   */
  #guarded<Args extends readonly unknown[]>(handle: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      try {
        handle(...args)
      } catch (error) {
        try {
          this.#end(nonsense(this.#url, shortError(error)))
        } catch {
          this.#socket.terminate()
        }
      }
    }
  }

  #hello() {
    const { cluster, token, identity } = this.#options
    return { cluster, token, clusterId: identity.clusterId, ...CLIENT_WIRE }
  }

  // ---- Sending requests

  send(request: LinkRequest): void {
    if (this.#state !== 'open') return
    const count = this.#outbox.push(request)
    // Requests of one turn are sent together, because process.nextTick runs after the code of this turn.
    if (count === 1) process.nextTick(this.#flushGuarded)
    else if (count === MOST_IN_FRAME) this.#flushGuarded()
  }

  readonly #flushGuarded = this.#guarded(() => this.#flush())

  #flush(): void {
    const requests = this.#outbox
    this.#outbox = []
    if (this.#state !== 'open') return
    for (const frame of encodeRequests(requests)) this.#socket.send(frame)
    if (this.#socket.bufferedAmount > MOST_WAITING)
      this.#end(unreachable(this.#url, 'it takes nothing any more'))
  }

  /** Writes the requests that were passed to `send` before, and closes the link. */
  close(): void {
    if (this.#state === 'over') return
    this.#flush()
    this.#leave()
    this.#socket.close(1000)
    // If the member does not answer the close within 500 ms, the socket is closed without an answer.
    this.#options.clock.after(500, () => this.#socket.terminate(), { ref: false })
  }

  received(): number {
    return this.#raw?.bytesRead ?? 0
  }

  probe(): void {
    if (this.#state === 'open') this.#socket.ping()
  }

  // ---- Receiving replies

  #received(frame: Buffer): void {
    this.#isAlive = true
    if (this.#state === 'greeting') return this.#greeted(decodeWelcome(frame))
    if (this.#state !== 'open') return
    const replies = decodeReplies(frame)
    if (typeof replies === 'string') return this.#end(nonsense(this.#url, replies))
    for (const reply of replies) {
      if (reply.kind === 'leader' && !this.#isSameCluster(reply.clusterId))
        return this.#end(otherCluster(this.#url))
      this.#events.reply(reply)
    }
  }

  #greeted(welcome: Welcome | string): void {
    if (typeof welcome === 'string') return this.#end(nonsense(this.#url, welcome))
    if (!welcome.ok) return this.#end(errorOf(welcome.answer))
    // A member that does not know its cluster yet may later report another cluster than the store's cluster.
    // So the store does not use this link.
    if (welcome.clusterId === '' && this.#options.identity.clusterId !== undefined)
      return this.#end(unreachable(this.#url, 'it has not met its cluster yet'))
    if (!this.#isSameCluster(welcome.clusterId)) return this.#end(otherCluster(this.#url))
    this.#signal.removeEventListener('abort', this.#abort)
    this.#state = 'open'
    this.#beat()
    this.#resolve(this)
  }

  /**
   * Returns false if `clusterId` is not the id of the store's cluster. The first id that a member reports
   * becomes the id of the store's cluster. An empty id is accepted, because a new cluster has no id before
   * its first election.
   */
  #isSameCluster(clusterId: string): boolean {
    if (clusterId === '') return true
    const { identity } = this.#options
    identity.clusterId ??= clusterId
    return identity.clusterId === clusterId
  }

  #beat(): void {
    const look = this.#guarded(() => {
      if (!this.#isAlive) return this.#end(unreachable(this.#url, 'it does not answer any more'))
      this.#isAlive = false
      this.#socket.ping()
      this.#beat()
    })
    this.#pulse = this.#options.clock.after(PULSE, look, { ref: false })
  }

  // ---- The end

  #leave(): State {
    const before = this.#state
    this.#state = 'over'
    this.#pulse?.cancel()
    this.#signal.removeEventListener('abort', this.#abort)
    return before
  }

  /** Reports the end once, to the caller of the dial or to the listener of the open link. */
  #end(reason: Error): void {
    const before = this.#leave()
    if (before === 'over') return
    this.#socket.terminate()
    if (before === 'greeting') this.#reject(reason)
    else this.#events.closed(reason)
  }
}

const addressOf = (url: string): string => url.replace(/\/+$/, '') + CLIENTS_PATH

const tlsOf = (tls: ClientTls | undefined) => {
  if (!tls) return {}
  const asNode = (part: string | Uint8Array | undefined) =>
    part instanceof Uint8Array ? Buffer.from(part) : part
  return { ca: asNode(tls.ca), cert: asNode(tls.cert), key: asNode(tls.key) }
}

const unreachable = (url: string, cause: unknown) =>
  new LatchkeyError('ERR_NO_LEADER', `${url} cannot be reached: ${reasonOf(cause)}. ${hintOf(cause)}`, {
    cause,
  })

const EXPIRED = 'Replace the certificate of that member, and check the clock of this machine.'
const UNKNOWN = 'Give the authority of its certificate as tls.ca (--ca FILE).'
const HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    CERT_HAS_EXPIRED: EXPIRED,
    CERT_NOT_YET_VALID: EXPIRED,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN,
    UNABLE_TO_GET_ISSUER_CERT: UNKNOWN,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN,
    DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN,
    SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN,
    CERT_SIGNATURE_FAILURE: UNKNOWN,
    ERR_TLS_CERT_ALTNAME_INVALID: 'Use an address that its certificate names.',
  }),
)

const hintOf = (cause: unknown): string => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return HINTS.get(code) ?? 'Is a member running there?'
}

/**
 * Returns the reason of an error. Node 24 adds advice about a command-line flag after a semicolon, and this
 * function removes the advice.
 */
const reasonOf = (cause: unknown): string =>
  cause instanceof Error
    ? cause.message.split(';', 1)[0] || (cause as NodeJS.ErrnoException).code || cause.name
    : String(cause)

/**
 * The hint for the status 403. A member on a loopback address accepts no host name but localhost. Otherwise a
 * web page could reach the member through a DNS name of the attacker that points to this machine.
 */
const FOREIGN_NAME =
  'A member that listens at a loopback address takes no name but localhost: give its address as its --listen says.'

const refusedBy = (url: string, status: number | undefined) =>
  new LatchkeyError(
    status === 401 ? 'ERR_UNAUTHORIZED' : 'ERR_NO_LEADER',
    `${url} answered with HTTP status ${status} instead of a handshake. ${status === 403 ? FOREIGN_NAME : 'Is a Latchkey member running there?'}`,
  )

const otherCluster = (url: string) =>
  new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `${url} is of another cluster than before: it was founded or restored anew. Connect again to use it.`,
  )

const nonsense = (url: string, reason: string) =>
  new LatchkeyError(
    'ERR_PROTOCOL',
    `${url} said something that is not understood here: ${reason}. Check the versions.`,
  )
