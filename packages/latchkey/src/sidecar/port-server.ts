// Driver: owns the member's port: one server for HTTP and WebSockets, and all its connections.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock, RefusalLog } from '@latchkey/base'
import type { Connections } from '../open/connections-of-port.js'
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
import { ConfigError } from './settings.js'

interface GateOptions {
  readonly listen: Listen
  readonly tls: TlsOptions | undefined
  readonly maxConnections: number
  readonly clock: Clock
  readonly refusals: RefusalLog
}

export class Gate {
  readonly #server: Server
  readonly connections: Connections
  readonly refusals: RefusalLog
  #request: Request = notYet
  #upgrade: Upgrade

  private constructor({ tls, maxConnections, clock, refusals }: GateOptions) {
    const request: Request = (...arrival) => this.#request(...arrival)
    const upgrade: Upgrade = (...arrival) => this.#upgrade(...arrival)
    this.#upgrade = (_, socket) => refuseUpgrade(socket, '503 Service Unavailable', clock)
    const { server, connections } = makePort({ tls, clock, refusals, maxConnections, request, upgrade })
    this.#server = server
    this.connections = connections
    this.refusals = refusals
  }

  /** Opens the port. If the port is in use or not allowed, the function throws a ConfigError. */
  static async open(options: GateOptions): Promise<Gate> {
    const { listen } = options
    const gate = Gate.#make(options)
    const server = gate.#server
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        reject(new ConfigError(cannotListen(listen, error, '--listen HOST:PORT'), { cause: error }))
      })
      server.listen(listen.port, listen.host, resolve)
    })
    return gate
  }

  static #make(options: GateOptions): Gate {
    try {
      return new Gate(options)
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

  /**
   * Accepts no more connections. Idle connections are closed at once, and the others when `close` is called.
   */
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

/** Answers a request while the member opens: the process is alive, but not ready. */
function notYet(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  const live = request.url === '/livez'
  const body = live ? 'ok\n' : `${JSON.stringify(problemJson(503, STARTING))}\n`
  response.writeHead(live ? 200 : 503, live ? {} : { 'content-type': PROBLEM_TYPE, 'retry-after': '1' })
  response.end(body)
}
