// Driver: a Store: one session engine (engine.ts), and all calls for users. Embedded and remote stores differ
// in their route to the members, and in nothing else.

import { type Clock, EMPTY, type Random } from '@latchkey/base'
import { DEFAULT_DRIFT, Locking } from '@latchkey/lock'
import {
  type Acquirer,
  type As,
  type BackupOptions,
  type Bytes,
  type CallOptions,
  type CloseOptions,
  type Decoding,
  closeArgs,
  LatchkeyError,
  encodeCommand,
  type MemberCalls,
  OP,
  type OnUndecodable,
  type Owner,
  type SessionCalls,
  type Metric,
  type SnapshotResult,
  type Status,
  type StoreEvents,
} from '@latchkey/protocol'
import { Engine } from '../engine/engine.js'
import type { Route } from '../engine/router-interface.js'
import { attempt } from './reject-not-throw.js'
import type { Tracing } from '../tracing/tracing.js'
import { backupToFile } from './backup-file.js'
import { Cluster } from './cluster-calls.js'
import { PrefixedStore, portOf } from './store-calls-with-prefix.js'
import type { Store } from './store-interface.js'

export interface StoreOptions {
  readonly route: Route
  readonly clock: Clock
  readonly random: Random
  readonly newId: () => string
  readonly as?: As | undefined
  readonly onUndecodable?: OnUndecodable | undefined
  /** In ms: how long the session stays open while the store sends nothing. The default is 30 s. */
  readonly sessionLife?: number | undefined
  readonly drift?: number | undefined
  readonly tracing?: Tracing | undefined
  /** Runs once, after all pending calls have ended. In an embedded store, this function stops the member. */
  readonly closeHook?: (() => Promise<void>) | undefined
}

const DEFAULT_SESSION_LIFE = 30_000
/** In ms: how long `close` waits for the release of holds. The time is longer than a change of leader. */
const RELEASE_PATIENCE = 2_000

/** A store begins to dial when it is created. Every call waits for a link until the call's deadline. */
export class ClientStore<S extends As = 'bytes'> extends PrefixedStore<S> implements Store<S> {
  readonly engine: Engine
  readonly members: MemberCalls
  readonly sessions: SessionCalls
  readonly #parties: ReadonlySet<object>
  readonly #cluster: Cluster
  readonly #locking: Locking<S>
  readonly #closed: AbortController
  readonly #closeHook: (() => Promise<void>) | undefined
  #closing: Promise<void> | undefined

  constructor(options: StoreOptions) {
    const { route, clock, random, as = 'bytes', onUndecodable = 'error', newId } = options
    const decoding: Decoding = { as, onUndecodable, prefix: EMPTY }
    const closed = new AbortController()
    const engine = new Engine({
      route,
      clock,
      random,
      sessionLife: options.sessionLife ?? DEFAULT_SESSION_LIFE,
      drift: options.drift ?? DEFAULT_DRIFT,
      tracing: options.tracing,
    })
    const parties = new Set<object>()
    const parts = { engine, clock, newId, closed: closed.signal, parties }
    const locking = new Locking<S>(portOf<S>(parts, decoding))
    super(parts, decoding, locking)
    this.engine = engine
    this.#locking = locking
    this.#parties = parties
    this.#closed = closed
    this.#closeHook = options.closeHook
    this.#cluster = new Cluster(engine)
    this.members = this.#cluster.members
    this.sessions = this.#cluster.sessions
  }

  // ---- Locks

  tryLockWith(
    key: Bytes,
    fencingKey: Bytes | null | undefined,
    keepLease: boolean,
    acquirer: Acquirer,
    options?: CallOptions,
  ): Promise<Owner> {
    return this.#locking.tryLockWith(key, fencingKey, keepLease, acquirer, options)
  }

  releaseLockWith(key: Bytes, acquirer: Acquirer, options?: CallOptions): Promise<Owner> {
    return this.#locking.releaseLockWith(key, acquirer, options)
  }

  // ---- The cluster

  ready(options?: CallOptions): Promise<void> {
    return this.#cluster.ready(options)
  }

  status(options?: CallOptions): Promise<Status> {
    return this.#cluster.status(options)
  }

  async metrics(options?: CallOptions): Promise<Metric[]> {
    return [...(await this.#cluster.metrics(options)), ...this.engine.counts.metrics()]
  }

  transferLeadership(id?: string, options?: CallOptions): Promise<void> {
    return this.#cluster.transferLeadership(id, options)
  }

  snapshot(options?: CallOptions): Promise<SnapshotResult> {
    return this.#cluster.snapshot(options)
  }

  backup(path: string, options?: BackupOptions): Promise<void> {
    return attempt(() => backupToFile(this.engine, path, options))
  }

  // ---- Events

  on<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this {
    this.engine.events.on(name, listener)
    return this
  }

  once<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this {
    this.engine.events.once(name, listener)
    return this
  }

  off<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this {
    this.engine.events.off(name, listener)
    return this
  }

  addListener<Name extends keyof StoreEvents>(
    name: Name,
    listener: (event: StoreEvents[Name]) => void,
  ): this {
    return this.on(name, listener)
  }

  removeListener<Name extends keyof StoreEvents>(
    name: Name,
    listener: (event: StoreEvents[Name]) => void,
  ): this {
    return this.off(name, listener)
  }

  // ---- The end

  close(options?: CloseOptions): Promise<void> {
    return attempt(() => {
      const holds = closeArgs(options)
      this.#closing ??= this.#close(holds)
      return this.#closing
    })
  }

  /**
   * Releases the holds, except if `holds` is 'keep'. If the store has ephemeral keys, or waits at latches or
   * barriers, also ends the session, which ends the keys and the waits. After these requests the engine
   * closes its link, and an embedded member stops. If the cluster does not answer, `close` waits at most
   * RELEASE_PATIENCE, and the leases expire by themselves.
   */
  async #close(holds: 'release' | 'keep'): Promise<void> {
    const why = new LatchkeyError('ERR_CLOSED')
    const endsSession = this.engine.ephemeralKeys.exist || this.#parties.size > 0
    this.#closed.abort(why)
    const last = () => [
      ...(holds === 'release' ? [this.#locking.releaseForClose(why, RELEASE_PATIENCE)] : []),
      ...(endsSession ? [this.#endSession()] : []),
    ]
    if (holds === 'release' || endsSession) await Promise.allSettled(this.engine.closing(last))
    this.engine.close()
    await this.#closeHook?.()
  }

  /**
   * Ends the session, which also deletes the session's ephemeral keys. `close` waits for the answer, because
   * an embedded member stops next and could not apply the command any more.
   */
  #endSession(): Promise<unknown> {
    const limits = { timeout: RELEASE_PATIENCE, signal: undefined }
    return this.engine.command(encodeCommand([OP.closeSession]), limits, (x) => x)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
