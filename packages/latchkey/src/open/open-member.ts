// Driver: a member in this process with everything around it: its directory, its connections, the user's
// store and the stores of HTTP callers. running-member.ts owns the member itself.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, ConnectionErrors, newId, RefusalLog, seededRandom, Turns } from '@latchkey/base'
import { ClientStore, requireOpenTelemetry, type StoreOptions, Tracing } from '@latchkey/client'
import { CLIENTS_PATH, LatchkeyError, type MemberFigures, type Metric, type Status } from '@latchkey/protocol'
import { removed } from '../member/own-membership.js'
import { ClientWebSockets } from '../member/client-websockets.js'
import { ClientLog } from '../member/client-connections-log.js'
import type { Member } from '../member/member.js'
import { memberFigures } from '../member/member-metric-values.js'
import { UnreadBytesLimit } from '../member/unread-bytes-limit.js'
import { RequestTracer } from '../member/request-tracer.js'
import { whyNoLeader } from '../member/member-status.js'
import { Identities, type Identity } from '../member/identity-and-rights.js'
import { UnfinishedMessagesLimit } from '../member/unfinished-messages-limit.js'
import { HttpCallerStores } from './http-caller-stores.js'
import { callerOf } from './authenticate-caller.js'
import { CertificateWatch } from './certificate-expiry-warnings.js'
import { CurrentMember, hasOthers } from './running-member.js'
import { type EmbeddedStore, OwnStore } from './embedded-store.js'
import { localRoute } from './in-process-link.js'
import { ConnectionsOfMembers } from './connections-of-members.js'
import type { Settings } from './options.js'
import type { TlsOptions } from './tls-options.js'
import { reloaded, type ReloadOptions } from './check-reloaded-certificates-and-tokens.js'
import { type MemberWorld, realWorld } from './member-clock-disk-and-network.js'
import type { Storage } from './member-storage.js'
import { addressOf, type Proven } from './connection-limits-of-port.js'
import { openingAnew, whyNotServed } from './reason-not-serving.js'
import { type OwnServer, type PortOptions, refuseUpgrade } from './http-and-websocket-server.js'

export class OpenedMember {
  readonly store: EmbeddedStore & ClientStore
  readonly clock: Clock
  /** Counts errors in handlers of connections. An error closes only its own connection. */
  readonly connectionErrors: ConnectionErrors
  readonly refusals: RefusalLog
  /** Closes the slowest readers if clients leave too many bytes unread. */
  readonly unreadBytes: UnreadBytesLimit
  readonly unfinished: UnfinishedMessagesLimit
  /** Undefined if requests are not traced. */
  readonly tracer: RequestTracer | undefined
  #settings: Settings
  readonly #tracing: Tracing | undefined
  readonly #storage: Storage
  readonly #running: CurrentMember
  readonly #clients: ClientWebSockets
  readonly #callerStores: HttpCallerStores
  #identities: Identities
  readonly #memberConnections: ConnectionsOfMembers
  readonly #certificates: CertificateWatch
  readonly #guardedUpgrade: OpenedMember['upgrade']
  #server: OwnServer | undefined

  /**
   * `refusals` counts refused connections. A caller that has already opened a port passes the RefusalLog of
   * that port.
   */
  static async open(
    settings: Settings,
    refusals?: RefusalLog,
    world: MemberWorld = realWorld(),
  ): Promise<OpenedMember> {
    const { logger } = settings
    const { clock } = world
    if (settings.tracing) requireOpenTelemetry()
    const storage = await world.takeStorage(settings, clock)
    const opened = new OpenedMember(settings, storage, world, refusals ?? new RefusalLog({ clock, logger }))
    try {
      await opened.#running.open()
      if (settings.signal?.aborted)
        throw new LatchkeyError('ERR_ABORTED', undefined, { cause: settings.signal.reason })
      return opened
    } catch (error) {
      opened.#running.willClose()
      await opened.store.close().catch(() => {})
      throw error
    }
  }

  constructor(settings: Settings, storage: Storage, world: MemberWorld, refusals: RefusalLog) {
    const { clock } = world
    const turns = new Turns(world.nextTurn)
    this.#settings = settings
    this.#identities = new Identities(settings.auth?.tokens)
    this.#storage = storage
    this.clock = clock
    this.connectionErrors = new ConnectionErrors({ clock, logger: settings.logger })
    this.refusals = refusals
    this.unreadBytes = new UnreadBytesLimit(refusals)
    this.unfinished = new UnfinishedMessagesLimit({ clock, refusals })
    this.#tracing = settings.tracing === false ? undefined : new Tracing(settings.cluster, settings.logger)
    this.tracer = tracerOf(this.#tracing, settings, clock)
    this.#memberConnections = new ConnectionsOfMembers(
      () => this.#settings,
      clock,
      turns.end,
      refusals,
      this.connectionErrors,
    )
    this.#certificates = new CertificateWatch(clock, () => this.#settings)
    this.#guardedUpgrade = this.connectionErrors.guard(
      'upgrade',
      (...arrival: Parameters<OpenedMember['upgrade']>) => this.#upgrade(...arrival),
      (_, socket) => socket.destroy(),
    )
    this.#clients = new ClientWebSockets({
      clock,
      errors: this.connectionErrors,
      refusals,
      log: new ClientLog({ clock, logger: settings.logger }),
      unreadBytes: this.unreadBytes,
      unfinished: this.unfinished,
      cluster: settings.cluster,
      clusterId: () => this.current?.replica.clusterId ?? '',
      applied: () => this.current?.replica.node.applied.position.index ?? 0,
      defer: turns.end,
      refusal: () => this.#running.failure() ?? whyNotServed(this.current),
      clientConnection: (tell, identity) => this.#member().clientConnection(tell, identity, 'websocket'),
    })
    this.#running = new CurrentMember({
      storage,
      world,
      turns,
      settings: () => this.#settings,
      transport: (owner) => world.transport?.(owner) ?? this.#memberConnections.transport(owner),
      tracer: this.tracer,
      sendAway: () => this.#clients.sendAway(),
      quorum: (event) => this.store.engine.events.emit('quorum', event),
    })
    const { as, onUndecodable } = settings
    const options = { ...this.#storeOptions(), as, onUndecodable, closeHook: () => this.#close() }
    this.store = new OwnStore(options, (given) => this.reload(given))
    this.#callerStores = new HttpCallerStores(this.store, (who) => new ClientStore(this.#storeOptions(who)))
  }

  #storeOptions(who?: Identity): StoreOptions {
    const { sessionLife, drift } = this.#settings
    return {
      route: localRoute(this.#running, who),
      clock: this.clock,
      random: seededRandom(newId()),
      newId,
      sessionLife,
      drift,
      tracing: this.#tracing,
    }
  }

  /** Undefined while the member is opened again after the deletion of its state. */
  get current(): Member | undefined {
    return this.#running.member
  }

  onGone(run: () => void): () => void {
    return this.#running.onGone(run)
  }

  actAs(who: Identity): ClientStore {
    return this.#callerStores.of(who)
  }

  /** The address of this member in the Raft log. Undefined if the log has no address. */
  get address(): string | undefined {
    const url = this.current?.replica.node.raft.membership.peers[this.#settings.id]?.url
    return url === '' ? undefined : url
  }

  get isAlone(): boolean {
    return this.current === undefined || !hasOthers(this.current)
  }

  isReady(): boolean {
    return this.#running.isReady
  }

  whyNotReady(): string | undefined {
    if (this.current === undefined) return undefined
    return this.current.isLeft ? removed(this.#settings.id) : whyNoLeader(this.current.replica)
  }

  /**
   * Returns why this member opens no new session, although the member is ready. Without a session, a new
   * store can only read.
   */
  warning(): string | undefined {
    return this.isReady() ? this.current?.kv.openSessions.whyNone() : undefined
  }

  figures(): MemberFigures {
    const { expiresAt } = this.#certificates
    return {
      client_connections: this.#clients.connections,
      unread_bytes: this.unreadBytes.bytes,
      unfinished_bytes: this.unfinished.bytes,
      ...(expiresAt === undefined ? {} : { certificate_expiry_timestamp_seconds: expiresAt / 1000 }),
      ...(this.current === undefined ? {} : memberFigures(this.current)),
    }
  }

  counters(status: Status): Metric[] {
    return this.current?.counters(status) ?? []
  }

  get failed(): Promise<LatchkeyError> {
    return this.#running.failed
  }

  /** Returns an error if `auth.tokens` has no entry for the certificate or the token. */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError {
    return callerOf(this.#identities, this.#settings.tls, token, socket)
  }

  /** If the call throws, the old certificates and tokens stay in use. */
  reload(given: ReloadOptions): void {
    this.#settings = reloaded(this.#settings, given, !this.isAlone, this.clock.instant().wall)
    this.#server?.useTls(this.#settings.tls)
    this.#certificates.look()
    const identities = new Identities(this.#settings.auth?.tokens, this.#identities)
    this.#identities = identities
    const isKnown = (who: Identity) => identities.has(who)
    this.#clients.keepOnly(isKnown)
    this.#callerStores.keepOnly(isKnown)
  }

  upgrade(...arrival: [request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven]): void {
    this.#guardedUpgrade(...arrival)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven): void {
    const path = request.url?.split('?')[0]
    const address = addressOf(request.socket)
    if (path === CLIENTS_PATH)
      return this.#clients.upgrade(request, socket, head, {
        address,
        admitClient: proven,
        identify: (token) => this.identify(token, request.socket),
      })
    if (this.#memberConnections.upgrade(request, socket, head, () => void proven('member'))) return
    this.refusals.note('http', 'path', 'a WebSocket was refused', {
      reason: 'there is no WebSocket at its path',
    })
    refuseUpgrade(socket, '404 Not Found', this.clock)
  }

  /** Returns the options for a port that belongs to this member alone. The sidecar has its own options. */
  arrivals(tls: TlsOptions | undefined): Omit<PortOptions, 'request'> {
    const { clock, refusals } = this
    return { tls, clock, refusals, upgrade: (...arrival) => this.upgrade(...arrival) }
  }

  serveAt(server: OwnServer): void {
    this.#server = server
  }

  #member(): Member {
    if (this.current === undefined) throw openingAnew()
    return this.current
  }

  async #close(): Promise<void> {
    this.#running.willClose()
    this.#certificates.close()
    this.#clients.close()
    await this.#callerStores.close()
    await this.#running.close()
    await this.#server?.close()
    await this.#storage.release()
  }
}

function tracerOf(
  tracing: Tracing | undefined,
  { id, cluster, logger }: Settings,
  clock: Clock,
): RequestTracer | undefined {
  if (tracing === undefined) return undefined
  return new RequestTracer({ clock, logger, openTelemetry: tracing.openTelemetry, id, cluster })
}
