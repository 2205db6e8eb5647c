// Driver: the HTTP and WebSocket server of a port. This file refuses connections beyond the limits, requests
// that take too long, and bytes that are no HTTP.
//
// Law: after a refusal, a socket is closed within REFUSED_MS, and a silent socket is closed after its limit
// (connection-limits-of-port.ts). The law holds for each refusal, for example of bytes that are no HTTP, slow
// heads and unwanted WebSockets. The law also holds for a client that does not answer a close frame.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, endRefused, nextTurn, REFUSED_MS, type RefusalLog } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { serverTls } from '@latchkey/raft'
import { Connections, IDLE_MS, limitsOf, type Proven } from './connection-limits-of-port.js'
import { HttpRequests } from './http-requests-and-bytes-per-turn.js'
import { listenTrouble } from './listen-errors.js'
import type { Listen } from './options.js'
import { isWebSocket } from './upgrade-header-removal.js'
import { refusalText } from './problem-json.js'
import type { TlsOptions } from './tls-options.js'

/** The response emits 'close' exactly once, even if the connection closes before the response is written. */
export type Request = (request: IncomingMessage, response: ServerResponse) => void
/** The handler calls `proven` when it knows the caller's identity. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven) => void

export interface PortOptions {
  readonly tls: TlsOptions | undefined
  readonly clock: Clock
  readonly refusals: RefusalLog
  readonly maxConnections?: number | undefined
  readonly request: Request
  readonly upgrade: Upgrade
}

interface Port {
  readonly server: Server
  readonly connections: Connections
}

/** In ms. If the head of a request has not arrived after this time, the server refuses the request. */
const HEAD_MS = 10_000
/** In ms. If the whole request has not arrived after this time, the server refuses the request. */
const REQUEST_MS = 60_000
/** In ms. Node checks HEAD_MS and REQUEST_MS at this interval. */
const LOOK_MS = 1_000

/** The server does not listen yet. Throws a TypeError if a certificate cannot be read. */
export function makePort(options: PortOptions): Port {
  const { tls, clock, refusals, maxConnections = CAPS.connections } = options
  const server = makeServer(tls)
  const connections = new Connections({ clock, refusals, limits: limitsOf(maxConnections) })
  connections.watch(server, tls !== undefined)
  server.headersTimeout = HEAD_MS
  server.requestTimeout = REQUEST_MS
  server.keepAliveTimeout = IDLE_MS
  const requests = new HttpRequests({
    clock,
    refusals,
    nextTurn,
    came: (request, response) => {
      connections.asked(request.socket)
      response.once('close', () => connections.answered(request.socket))
    },
    begin: options.request,
  })
  const opened = tls === undefined ? 'connection' : 'secureConnection'
  server.on(opened, (socket: Socket) => requests.watch(socket))
  server.on('request', (request, response) => requests.come(request, response))
  // Node emits this event for an Expect header other than '100-continue'. The server ignores such a header.
  server.on('checkExpectation', (request, response) => requests.come(request, response))
  server.on('upgrade', (request, socket, head) => {
    if (!isWebSocket(request))
      return requests.again(request, socket, head, () => void server.emit(opened, socket))
    // An error without a listener would end the process.
    socket.on('error', () => socket.destroy())
    // After the last written bytes, the client has REFUSED_MS to close the connection.
    socket.once('finish', () => void clock.after(REFUSED_MS, () => socket.destroy(), { ref: false }))
    const whole = requests.upgraded(socket, head)
    connections.upgraded(socket)
    options.upgrade(request, socket, whole, (kind) => connections.proven(socket, kind))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(options, error, socket))
  return { server, connections }
}

/**
 * With TLS, the server asks for a certificate, but also accepts clients without one. The check of the
 * client's identity comes later.
 */
function makeServer(tls: TlsOptions | undefined): Server {
  // Without `requireHostHeader: false`, Node itself would refuse a request without a Host header. Node's
  // response would have no body with the reason.
  const look = { connectionsCheckingInterval: LOOK_MS, requireHostHeader: false }
  if (tls === undefined) return createServer(look)
  try {
    return createSecureServer({ ...serverTls(tls), ...look })
  } catch (cause) {
    throw new TypeError(`tls: the certificate or its key cannot be used: ${(cause as Error).message}`, {
      cause,
    })
  }
}

export function useTls(server: Server, tls: TlsOptions | undefined): void {
  if (tls !== undefined && server instanceof SecureServer) server.setSecureContext(serverTls(tls))
}

interface HttpRefusal {
  readonly status: number
  readonly code: string
  readonly message: string
}

const UNREADABLE: HttpRefusal = {
  status: 400,
  code: 'BAD_REQUEST',
  message: 'This is no HTTP request that can be read.',
}
const HTTP_REFUSALS = new Map<string | undefined, HttpRefusal>([
  [
    'HPE_HEADER_OVERFLOW',
    {
      status: 431,
      code: 'ERR_TOO_LARGE',
      message: 'The head of the request is larger than 16 KiB.',
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    {
      status: 408,
      code: 'BAD_REQUEST',
      message: 'The whole request did not arrive in time.',
    },
  ],
])

function refuse({ clock, refusals }: PortOptions, { code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') return void socket.destroy()
  const refusal = HTTP_REFUSALS.get(code) ?? UNREADABLE
  refusals.note('http', String(refusal.status), 'bytes that are no HTTP request were refused', {
    reason: refusal.message,
  })
  endRefused(socket, refusalText(refusal.status, refusal.code, refusal.message), clock)
}

export function refuseUpgrade(socket: Duplex, status: string, clock: Clock): void {
  endRefused(socket, `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`, clock)
}

export interface OwnServer {
  readonly connections: Connections
  useTls(tls: TlsOptions | undefined): void
  close(): Promise<void>
}

export async function listen(
  at: Listen,
  options: Pick<PortOptions, 'tls' | 'clock' | 'refusals' | 'upgrade'>,
): Promise<OwnServer> {
  const request: Request = (_, response) => response.writeHead(404, { connection: 'close' }).end()
  const { server, connections } = makePort({ ...options, request })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenTrouble(at, error)))
    server.listen(at.port, at.host, resolve)
  })
  // Node emits this error if the process has too many open files. Without a listener, the error would end the
  // process.
  server.on('error', () => {})
  return {
    connections,
    useTls: (tls) => useTls(server, tls),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
