// Driver: owns a member and its directory in this process: the lock of the directory, the real clock, disk
// and network, and the user's store. When the member's state must be built anew, the member is closed and
// opened again, and the store goes on.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  type Clock,
  ConnectionErrors,
  type Defer,
  Emitter,
  newId,
  RefusalLog,
  seededRandom,
  Turns,
} from '@latchkey/base'
import { ClientStore, type StoreOptions } from '@latchkey/client'
import { KvMachine } from '@latchkey/kv'
import { CLIENTS_PATH, LatchkeyError } from '@latchkey/protocol'
import { removed } from '../member/own-membership.js'
import { ClientDoor } from '../member/client-door.js'
import { Member } from '../member/member.js'
import { memberFigures } from '../member/member-figures.js'
import { Outboxes } from '../member/outboxes.js'
import { ClusterLog } from '../member/cluster-log.js'
import { Readiness } from '../member/readiness.js'
import { whyNoLeader } from '../member/status.js'
import { Identities, type Identity } from '../member/rights.js'
import { Unfinished } from '../member/unfinished.js'
import { HttpCallerStores } from './http-caller-stores.js'
import { callerOf } from './caller-identity.js'
import { CertificateWatch } from './certificate-watch.js'
import { type EmbeddedStore, OwnStore } from './embedded-store.js'
import { localRoute } from './local-link.js'
import { refuseUnprovenMembers, whyNoMembers } from './member-proof.js'
import { MembersGate } from './members-gate.js'
import type { Settings, TlsOptions } from './options.js'
import { reloaded, type ReloadOptions } from './reload.js'
import { type MemberWorld, realWorld } from './member-world.js'
import type { Storage } from './storage.js'
import { addressOf, type Proven } from './connections.js'
import { openingAnew, whyNotServed } from './why-not-served.js'
import { type OwnServer, type PortOptions, refuseUpgrade } from './server.js'

type Changes = {
  gone: undefined
  /** Resolves when there is a member, or when there will be none. */
  settled: undefined
  failed: LatchkeyError
}

export class OpenedMember {
  readonly store: EmbeddedStore & ClientStore
  readonly clock: Clock
  /** Errors that escaped from handlers of connections: each ended its connection only. */
  readonly connectionErrors: ConnectionErrors
  readonly refusals: RefusalLog
  /** What clients were told and have not read. */
  readonly outboxes: Outboxes
  /** What was read of clients' messages and bodies that are not whole. */
  readonly unfinished: Unfinished
  #settings: Settings
  readonly #storage: Storage
  readonly #changes = new Emitter<Changes>()
  readonly #world: MemberWorld
  readonly #turns: Turns
  readonly #clients: ClientDoor
  readonly #callerStores: HttpCallerStores
  #identities: Identities
  readonly #gate: MembersGate
  readonly #certificates: CertificateWatch
  readonly #guardedUpgrade: OpenedMember['upgrade']
  #server: OwnServer | undefined
  #current: Member | undefined
  #readiness: Readiness | undefined
  #log: ClusterLog | undefined
  #failed: LatchkeyError | undefined
  #closing = false
  #rebuilding: Promise<void> | undefined

  /** `refusals`: those of the port that was opened before, where there is one. */
  static async open(
    settings: Settings,
    refusals?: RefusalLog,
    world: MemberWorld = realWorld(),
  ): Promise<OpenedMember> {
    const { logger } = settings
    const { clock } = world
    const storage = await world.takeStorage(settings, clock)
    const opened = new OpenedMember(settings, storage, world, refusals ?? new RefusalLog({ clock, logger }))
    try {
      await opened.#boot()
      if (settings.signal?.aborted)
        throw new LatchkeyError('ERR_ABORTED', undefined, { cause: settings.signal.reason })
      return opened
    } catch (error) {
      opened.#closing = true
      await opened.store.close().catch(() => {})
      throw error
    }
  }

  constructor(settings: Settings, storage: Storage, world: MemberWorld, refusals: RefusalLog) {
    const { clock } = world
    this.#world = world
    this.#turns = new Turns(world.nextTurn)
    this.#settings = settings
    this.#identities = new Identities(settings.auth?.tokens)
    this.#storage = storage
    this.clock = clock
    this.connectionErrors = new ConnectionErrors({ clock, logger: settings.logger })
    this.refusals = refusals
    this.outboxes = new Outboxes(refusals)
    this.unfinished = new Unfinished({ clock, refusals })
    this.#gate = new MembersGate(
      () => this.#settings,
      clock,
      this.#turns.end,
      refusals,
      this.connectionErrors,
    )
    this.#certificates = new CertificateWatch(clock, () => this.#settings)
    this.#guardedUpgrade = this.connectionErrors.guard(
      'upgrade',
      (...arrival: Parameters<OpenedMember['upgrade']>) => this.#upgrade(...arrival),
      (_, socket) => socket.destroy(),
    )
    this.#clients = new ClientDoor({
      clock,
      errors: this.connectionErrors,
      refusals,
      outboxes: this.outboxes,
      unfinished: this.unfinished,
      cluster: settings.cluster,
      clusterId: () => this.#current?.replica.clusterId ?? '',
      defer: this.#turns.end,
      refusal: () => this.#failed ?? whyNotServed(this.#current),
      clientConnection: (tell, identity) => this.#member().clientConnection(tell, identity),
    })
    const { as, onUndecodable } = settings
    const options = { ...this.#storeOptions(), as, onUndecodable, closeHook: () => this.#close() }
    this.store = new OwnStore(options, (given) => this.reload(given))
    this.#callerStores = new HttpCallerStores(this.store, (who) => new ClientStore(this.#storeOptions(who)))
  }

  #storeOptions(who?: Identity): StoreOptions {
    const { sessionLife, drift } = this.#settings
    const local = {
      current: () => (this.#isAsking ? undefined : this.#current),
      failure: () => this.#failed,
      onGone: (run: () => void) => this.onGone(run),
      onSettled: (run: () => void) => this.#changes.on('settled', run),
    }
    return {
      route: localRoute(local, who),
      clock: this.clock,
      random: seededRandom(newId()),
      newId,
      sessionLife,
      drift,
    }
  }

  get current(): Member | undefined {
    return this.#current
  }

  /** Called when this member is gone; another one may come in its place. */
  onGone(run: () => void): () => void {
    return this.#changes.on('gone', run)
  }

  /** The store of a caller of HTTP: it may do what that one may. */
  actAs(who: Identity): ClientStore {
    return this.#callerStores.of(who)
  }

  /** Where the others look for this member, as its own log has it. */
  get address(): string | undefined {
    const url = this.#current?.replica.node.raft.membership.peers[this.#settings.id]?.url
    return url === '' ? undefined : url
  }

  get isAlone(): boolean {
    const peers = this.#current?.replica.node.raft.membership.peers ?? {}
    return Object.keys(peers).every((id) => id === this.#settings.id)
  }

  isReady(): boolean {
    return this.#readiness?.ready ?? false
  }

  whyNotReady(): string | undefined {
    if (this.#current === undefined) return undefined
    return this.#current.isLeft ? removed(this.#settings.id) : whyNoLeader(this.#current.replica)
  }

  /** Served, but not everything: where no session can be opened, new stores can only read. */
  warning(): string | undefined {
    return this.isReady() ? this.#current?.kv.openSessions.whyNone() : undefined
  }

  /** For gauges. */
  figures(): Readonly<Record<string, number>> {
    return {
      client_connections: this.#clients.connections,
      unread_bytes: this.outboxes.bytes,
      unfinished_bytes: this.unfinished.bytes,
      ...(this.#current === undefined ? {} : memberFigures(this.#current)),
    }
  }

  /** Settles when the member has stopped by itself. */
  get failed(): Promise<LatchkeyError> {
    return new Promise((resolve) => {
      if (this.#failed !== undefined) resolve(this.#failed)
      else this.#changes.on('failed', resolve)
    })
  }

  /** Who comes over that connection and shows that token; or why it is nobody. */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError {
    return callerOf(this.#identities, this.#settings.tls, token, socket)
  }

  /** Puts new certificates and tokens into use. If it throws, nothing has changed. */
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
        hasPlace: proven,
        identify: (token) => this.identify(token, request.socket),
      })
    if (this.#gate.upgrade(request, socket, head, () => void proven('member'))) return
    this.refusals.note('http', 'path', 'a WebSocket was refused', {
      reason: 'there is nothing under its path',
    })
    refuseUpgrade(socket, '404 Not Found', this.clock)
  }

  /** What a port of its own is made of. */
  arrivals(tls: TlsOptions | undefined): Omit<PortOptions, 'request'> {
    const { clock, refusals } = this
    return { tls, clock, refusals, upgrade: (...arrival) => this.upgrade(...arrival) }
  }

  /** The member's own port, where nobody else offers one. */
  serveAt(server: OwnServer): void {
    this.#server = server
  }

  /** Members that it was given, and that its log does not know at those addresses, may be another cluster: nobody is served before they have been asked. */
  get #isAsking(): boolean {
    return this.#current?.replica.isAsking === true
  }

  #member(): Member {
    if (this.#current === undefined) throw openingAnew()
    return this.#current
  }

  async #boot(): Promise<void> {
    const { logger } = this.#settings
    const { home, fs, dir, note } = this.#storage
    const { clock } = this
    const { nextTurn } = this.#world
    // Asked for behind the work that sends, so that it runs behind the sending.
    const later = (run: () => void) => this.#turns.work(() => this.#turns.end(run))
    const member = await Member.open(this.#settings, {
      fs,
      dir,
      clock,
      random: seededRandom(newId()),
      defer: this.#turns.work,
      logger,
      newId,
      transport: (owner) => this.#world.transport?.(owner) ?? this.#gate.transport(owner),
      machine: (hooks) => new KvMachine({ home, clock, logger, nextTurn, later, ...hooks }),
      rebuild: () => this.#rebuildLater(later),
      whyNoMembers: () => whyNoMembers(this.#settings),
      note,
      asked: () => this.#serve(),
      diskUse: this.#storage.diskUse,
    })
    this.#current = member
    refuseUnprovenMembers(this.#settings, !this.isAlone)
    member.on('failed', (error) => this.#onFailed(error))
    // It may have stopped before anybody listened.
    const { failure } = member.replica.node
    if (failure?.code === 'ERR_WRONG_CLUSTER') throw failure
    if (failure !== undefined) this.#onFailed(failure)
    else this.#serve()
  }

  /** Called when it is open, and again when strangers have been asked who they are. */
  #serve(): void {
    if (this.#current === undefined || this.#isAsking || this.#failed !== undefined) return
    this.#readiness ??= new Readiness(this.#current, this.clock)
    this.#log ??= new ClusterLog(this.#current.replica, this.clock, this.#settings.logger, (event) =>
      this.store.engine.events.emit('quorum', event),
    )
    this.#changes.emit('settled', undefined)
  }

  /** It will not come back by itself: what is asked is answered with the reason at once, clients go elsewhere. */
  #onFailed(error: LatchkeyError): void {
    if (this.#failed !== undefined) return
    this.#failed = error
    this.#settings.logger.error('this member has stopped', { code: error.code, error: error.message })
    this.#stopServing()
    this.#changes.emit('settled', undefined)
    this.#changes.emit('failed', error)
  }

  #stopServing(): void {
    this.#log?.close()
    this.#log = undefined
    this.#readiness?.close()
    this.#readiness = undefined
    this.#changes.emit('gone', undefined)
    this.#clients.sendAway()
  }

  /** Once the turn in which it was asked for has been answered (M25): who asked this member itself would not be told otherwise. */
  #rebuildLater(later: Defer): void {
    later(() => this.#world.nextTurn(() => this.#rebuild()))
  }

  /** One at a time: who asks while one is under way has asked for that one. */
  #rebuild(): void {
    if (this.#closing || this.#failed !== undefined) return
    this.#rebuilding ??= this.#buildAnew().finally(() => {
      this.#rebuilding = undefined
    })
  }

  /** The log, and with it the vote, stays; the state comes from the peers. */
  async #buildAnew(): Promise<void> {
    this.#settings.logger.warn('the state of this member is dropped and built anew from its peers')
    try {
      await this.#stopMember()
      if (this.#closing) return
      await this.#storage.home.discard()
      await this.#boot()
    } catch (error) {
      this.#onFailed(
        error instanceof LatchkeyError
          ? error
          : new LatchkeyError('ERR_STORAGE_FAILED', String(error), { cause: error }),
      )
    }
  }

  async #stopMember(): Promise<void> {
    const member = this.#current
    this.#current = undefined
    this.#stopServing()
    await member?.close()
  }

  async #close(): Promise<void> {
    this.#closing = true
    this.#certificates.close()
    this.#clients.close()
    await this.#callerStores.close()
    await this.#rebuilding
    await this.#stopMember().catch((error: unknown) =>
      this.#settings.logger.warn('closing was not clean', { error: String(error) }),
    )
    await this.#server?.close()
    await this.#storage.release()
  }
}
