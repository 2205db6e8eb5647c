// Driver: owns the port: one server for HTTP and WebSockets, and every connection on it.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { cannotListen } from '../open/listen-trouble.js'
import type { Listen, TlsOptions } from '../open/options.js'
import { makeServer } from '../open/server.js'
import { ConfigError } from './settings.js'

export interface GateOptions {
  readonly listen: Listen
  readonly tls: TlsOptions | undefined
  readonly maxConnections: number
}

/** A request's head has to be here by then, its body a while later; idle connections are kept for a little. */
const HEAD_MS = 10_000
const REQUEST_MS = 60_000
const IDLE_MS = 15_000

export class Gate {
  readonly #server: Server
  #request: (request: IncomingMessage, response: ServerResponse) => void = notYet
  #upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void = (_, socket) => socket.destroy()

  private constructor(server: Server, maxConnections: number) {
    this.#server = server
    server.maxConnections = maxConnections
    server.headersTimeout = HEAD_MS
    server.requestTimeout = REQUEST_MS
    server.keepAliveTimeout = IDLE_MS
    server.on('request', (request, response) => this.#request(request, response))
    server.on('upgrade', (request, socket, head) => {
      // Until somebody else takes it over, its faults are nobody's.
      socket.on('error', () => socket.destroy())
      this.#upgrade(request, socket, head)
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(error, socket))
  }

  /** Listens, or says why it cannot: a port that is taken is bad configuration. */
  static async open({ listen, tls, maxConnections }: GateOptions): Promise<Gate> {
    const server = serverOf(tls)
    const gate = new Gate(server, maxConnections)
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        reject(new ConfigError(cannotListen(listen, error, '--listen HOST:PORT'), { cause: error }))
      })
      server.listen(listen.port, listen.host, resolve)
    })
    return gate
  }

  get host(): string {
    return (this.#server.address() as AddressInfo).address
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  serve(
    request: (request: IncomingMessage, response: ServerResponse) => void,
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
  ): void {
    this.#request = request
    this.#upgrade = upgrade
  }

  connections(): Promise<number> {
    return new Promise((resolve) => this.#server.getConnections((_, count) => resolve(count)))
  }

  /** No new connections; idle ones go at once, the rest when `close` is called. */
  refuseNew(): void {
    this.#server.close()
    this.#server.closeIdleConnections()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function serverOf(tls: TlsOptions | undefined): Server {
  try {
    return makeServer(tls)
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error })
  }
}

/** While the member opens: alive, not ready. */
function notYet(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  const live = request.url === '/livez'
  const body = live
    ? 'ok\n'
    : `${JSON.stringify({ code: 'NOT_READY', message: 'This member is starting.', retryable: true, outcome: 'not-applied' })}\n`
  response.writeHead(live ? 200 : 503, live ? {} : { 'content-type': 'application/json', 'retry-after': '1' })
  response.end(body)
}

const UNREADABLE = ['400 Bad Request', 'BAD_REQUEST', 'This is no HTTP request that can be read.'] as const
const REFUSALS: Readonly<Record<string, typeof UNREADABLE | readonly [string, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'ERR_TOO_LARGE',
    'The head of the request is larger than 16 KiB.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'BAD_REQUEST', 'The request did not come whole in time.'],
}

/** What is no request is answered all the same, in the shape of every refusal. */
function refuse({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') return void socket.destroy()
  const [status, name, message] = REFUSALS[code ?? ''] ?? UNREADABLE
  const body = `${JSON.stringify({ code: name, message, retryable: false, outcome: 'not-applied' })}\n`
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nConnection: close\r\n\r\n${body}`)
}
