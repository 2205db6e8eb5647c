// Driver: owns a member and its port, from the opening of the port until the member has closed.
//
// Laws
// - The sidecar opens its port before it changes anything on disk. So a start with an unusable address leaves
//   the disk unchanged. (Without a given address, a start with an old directory first opens the member, whose
//   log has the address.)
// - A stop has four steps. First /readyz reports that the member is not ready. Then the member transfers its
//   leadership while everything still works. Then the member finishes the calls in progress. Then the member
//   closes. So a member answers no calls after it has unlocked its directory.

import type { ServerResponse } from 'node:http'
import { type Clock, type Logger, RefusalLog } from '@latchkey/base'
import { Metrics, pageFile } from '@latchkey/daemon'
import { HttpRequestHandler, refuseOrigin } from '../http/index.js'
import type { UnreadBytesLimit } from '../member/unread-bytes-limit.js'
import { isClaimed } from '../open/member-json-file.js'
import { isLoopback, type Listen, listenAt, type OpenOptions } from '../open/options.js'
import { refuseUpgrade, type Upgrade } from '../open/http-and-websocket-server.js'
import { PortServer } from './member-port.js'
import type { Member, OpenMember } from './member-interface.js'
import { type SidecarOptions, withLogger } from './options-from-settings.js'
import { ConfigError } from './setting-values-by-precedence.js'

interface SidecarPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly openMember: OpenMember
  reloads?(): Readonly<Record<string, number>>
}

/** In ms. A stop waits at most this long for the transfer of leadership, and then continues. */
const HAND_OVER_MS = 3_000

export class Sidecar {
  readonly #options: SidecarOptions
  readonly #ports: SidecarPorts
  readonly #portServer: PortServer
  readonly #member: Member
  readonly #requestHandler: HttpRequestHandler

  private constructor(options: SidecarOptions, ports: SidecarPorts, portServer: PortServer, member: Member) {
    this.#options = options
    this.#ports = ports
    this.#portServer = portServer
    this.#member = member
    this.#requestHandler = this.#serve()
  }

  static async open(options: SidecarOptions, ports: SidecarPorts): Promise<Sidecar> {
    const { dir } = options.open
    const known = dir !== undefined && (await isClaimed(dir))
    if (known && options.isWithoutAddress) return Sidecar.#openWhereKnown(options, ports)
    const portServer = await openPortServer(options, ports, options.listen)
    try {
      const member = await openWith(withLogger(known ? options : withAddress(options), ports.logger), ports)
      return Sidecar.#serving(options, ports, portServer, member)
    } catch (error) {
      portServer.close()
      throw error
    }
  }

  static async #openWhereKnown(options: SidecarOptions, ports: SidecarPorts): Promise<Sidecar> {
    const member = await openWith(withLogger(options, ports.logger), ports)
    try {
      const portServer = await openPortServer(options, ports, addressOf(member, options))
      return Sidecar.#serving(options, ports, portServer, member)
    } catch (error) {
      await member.store.close()
      throw error
    }
  }

  static #serving(
    options: SidecarOptions,
    ports: SidecarPorts,
    portServer: PortServer,
    member: Member,
  ): Sidecar {
    const { id, cluster } = options.open
    ports.logger.info('listening', { host: portServer.host, port: portServer.port, id, cluster })
    return new Sidecar(options, ports, portServer, member)
  }

  get port(): number {
    return this.#portServer.port
  }

  get failed(): Promise<Error> {
    return this.#member.failed
  }

  /**
   * If a certificate or token is wrong, the function throws, and the old certificates and tokens stay in use.
   */
  reload({ open: { tls, auth } }: SidecarOptions): void {
    this.#member.reload({ tls, auth })
    this.#portServer.useTls(tls)
  }

  async stop(): Promise<void> {
    const { logger } = this.#ports
    logger.info('stopping')
    const drained = this.#requestHandler.drain(this.#options.grace)
    await this.#handOver().catch((error: unknown) =>
      logger.debug('leadership was not handed over', { error }),
    )
    this.#portServer.refuseNew()
    await drained
    await this.#member.store.close()
    this.#portServer.close()
    logger.info('stopped')
  }

  /**
   * A follower must not call transferLeadership here, because the call would end the leadership of another
   * member that does not stop.
   */
  async #handOver(): Promise<void> {
    const { store } = this.#member
    const { role, members } = await store.status({ timeout: HAND_OVER_MS })
    const voters = members.filter((member) => member.role === 'voter')
    if (role === 'leader' && voters.length > 1)
      await store.transferLeadership(undefined, { timeout: HAND_OVER_MS })
  }

  /**
   * Closes the port and a member that has failed. Such a member has no leadership to transfer and cannot
   * finish calls.
   */
  async abandon(): Promise<void> {
    this.#portServer.close()
    await this.#member.store.close().catch(() => {})
  }

  #serve(): HttpRequestHandler {
    const member = this.#member
    const portServer = this.#portServer
    const { clock } = this.#ports
    const { refusals } = portServer
    const { store } = member
    const status = store.status.bind(store)
    const isReady = () => member.isReady()
    const { connectionErrors } = member
    const metrics = new Metrics({
      clock,
      status,
      isReady,
      figures: () => member.figures(),
      counters: (now) => member.counters(now),
      connectionErrors: () => connectionErrors.counts(),
      connections: () => portServer.connections.counts(),
      reloads: () => this.#ports.reloads?.() ?? {},
      refusals: () => [...portServer.refusals.counts(), ...member.refusals.counts()],
    })
    const guards = { origins: new Set(this.#options.origins), hosts: hostsOf(this.#options) }
    const requestHandler = new HttpRequestHandler({
      clock,
      actAs: (who) => member.actAs(who),
      isReady,
      whyNotReady: () => member.whyNotReady?.(),
      warning: () => member.warning?.(),
      identify: (token, socket) => member.identify(token, socket),
      ...guards,
      pageFile,
      admitClient: (request) => portServer.connections.proven(request.socket, 'client'),
      bodies: member.unfinished,
      tracer: member.tracer,
      wrote: (response) => watchAnswer(member.unreadBytes, response),
      refused: (reason, why) => refusals.note('http', reason, 'a call was refused', { reason: why }),
      failed: (error) => connectionErrors.note('http', error),
      metrics: () => metrics.collect(),
      observe: (route, code, millis) => metrics.observe(route, code, millis),
    })
    const upgrade: Upgrade = (request, socket, head, proven) => {
      // A browser sends the origin of the web page that opens the WebSocket. If the member listens on
      // loopback, the host name is checked too, against DNS rebinding.
      const host = isLoopback(this.#options.listen.host) ? request.headers.host : undefined
      const refusal = refuseOrigin(guards, request.headers.origin, host)
      if (refusal === null) return member.upgrade(request, socket, head, proven)
      refusals.note('http', 'origin', 'a WebSocket was refused', { reason: refusal.message })
      refuseUpgrade(socket, '403 Forbidden', clock)
    }
    this.#portServer.serve(
      connectionErrors.guard('http', requestHandler.handle, (_, response) => response.destroy()),
      connectionErrors.guard('upgrade', upgrade, (_, socket) => socket.destroy()),
    )
    return requestHandler
  }
}

async function openWith(options: OpenOptions, { openMember }: SidecarPorts): Promise<Member> {
  try {
    return await openMember(options)
  } catch (error) {
    throw error instanceof TypeError ? new ConfigError(error.message, { cause: error }) : error
  }
}

const openPortServer = (
  { open, maxConnections }: SidecarOptions,
  { clock, logger }: SidecarPorts,
  listen: Listen,
): Promise<PortServer> =>
  PortServer.open({
    listen,
    tls: open.tls,
    maxConnections,
    clock,
    refusals: new RefusalLog({ clock, logger }),
  })

/**
 * Counts the answer's unread bytes for the limit `unreadBytes`, until the client has read the answer or has
 * disconnected.
 */
function watchAnswer(unreadBytes: UnreadBytesLimit, response: ServerResponse): void {
  const reader = { waiting: () => response.writableLength, close: () => void response.destroy() }
  if (unreadBytes.wrote(reader)) response.once('close', () => unreadBytes.left(reader))
}

function addressOf(member: Member, { listen, open }: SidecarOptions): Listen {
  try {
    return member.address === undefined ? listen : listenAt(member.address, open)
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error })
  }
}

/**
 * A cluster of one member stores its address, so that other members can join later. A wildcard such as
 * 0.0.0.0 is not stored, because no member can connect to a wildcard.
 */
function withAddress(options: SidecarOptions): SidecarOptions {
  const { listen, open } = options
  if (open.members !== undefined || listen.port === 0 || WILDCARDS.has(listen.host)) return options
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  const url = `${open.tls === undefined ? 'ws' : 'wss'}://${host}:${listen.port}`
  return { ...options, open: { ...open, members: { [open.id]: url } } }
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/**
 * The allowed names of the Host header: the host names of the members and of the settings. Undefined means
 * any host name.
 * Law: a web page whose host name resolves to the address of this member (DNS rebinding) reads nothing. Such
 * a page has no token. So if tokens are required and the port is not on loopback, any host name is allowed.
 * Without tokens, only the host name distinguishes such a page from a program.
 */
function hostsOf({ listen, open, hosts }: SidecarOptions): ReadonlySet<string> | undefined {
  if (!isLoopback(listen.host) && open.auth !== undefined) return undefined
  const members = Object.values(open.members ?? {}).map((url) => new URL(url).hostname.toLowerCase())
  return new Set([...members, ...hosts])
}
