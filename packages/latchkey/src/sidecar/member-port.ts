// Driver: owns the port of a member: one server for HTTP and WebSockets, and all its connections.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock, RefusalLog } from '@latchkey/base'
import type { Connections } from '../open/connection-limits-of-port.js'
import { cannotListen } from '../open/listen-errors.js'
import type { Listen } from '../open/options.js'
import { PROBLEM_TYPE, problemJson } from '../open/problem-json.js'
import type { TlsOptions } from '../open/tls-options.js'
import {
  makePort,
  type Request,
  refuseUpgrade,
  type Upgrade,
  useTls,
} from '../open/http-and-websocket-server.js'
import { ConfigError } from './setting-values-by-precedence.js'

interface PortServerOptions {
  readonly listen: Listen
  readonly tls: TlsOptions | undefined
  readonly maxConnections: number
  readonly clock: Clock
  readonly refusals: RefusalLog
}

export class PortServer {
  readonly #server: Server
  readonly connections: Connections
  readonly refusals: RefusalLog
  #request: Request = notYet
  #upgrade: Upgrade

  private constructor({ tls, maxConnections, clock, refusals }: PortServerOptions) {
    const request: Request = (...arrival) => this.#request(...arrival)
    const upgrade: Upgrade = (...arrival) => this.#upgrade(...arrival)
    this.#upgrade = (_, socket) => refuseUpgrade(socket, '503 Service Unavailable', clock)
    const { server, connections } = makePort({ tls, clock, refusals, maxConnections, request, upgrade })
    this.#server = server
    this.connections = connections
    this.refusals = refusals
  }

  static async open(options: PortServerOptions): Promise<PortServer> {
    const { listen } = options
    const portServer = PortServer.#make(options)
    const server = portServer.#server
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        reject(new ConfigError(cannotListen(listen, error, '--listen HOST:PORT'), { cause: error }))
      })
      server.listen(listen.port, listen.host, resolve)
    })
    return portServer
  }

  static #make(options: PortServerOptions): PortServer {
    try {
      return new PortServer(options)
    } catch (error) {
      throw new ConfigError((error as Error).message, { cause: error })
    }
  }

  get host(): string {
    return (this.#server.address() as AddressInfo).address
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  serve(request: Request, upgrade: Upgrade): void {
    this.#request = request
    this.#upgrade = upgrade
  }

  useTls(tls: TlsOptions | undefined): void {
    useTls(this.#server, tls)
  }

  /** Accepts no new connections and closes the idle ones. A later call of `close` closes all others. */
  refuseNew(): void {
    this.#server.close()
    this.#server.closeIdleConnections()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const STARTING = {
  code: 'NOT_READY',
  message: 'This member is starting.',
  retryable: true,
  outcome: 'not-applied',
}

/**
 * Answers requests during the opening of the member. /livez answers that the process is alive, and all other
 * requests get 503.
 */
function notYet(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  const live = request.url === '/livez'
  const body = live ? 'ok\n' : `${JSON.stringify(problemJson(503, STARTING))}\n`
  response.writeHead(live ? 200 : 503, live ? {} : { 'content-type': PROBLEM_TYPE, 'retry-after': '1' })
  response.end(body)
}
