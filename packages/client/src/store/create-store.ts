// Driver: a Store: one engine, and the calls of all kinds over it. Embedded and remote stores are the same from here on.

import type { Clock, Random } from '@latchkey/base'
import {
  DEFAULT_DRIFT,
  type DistributedLock,
  type LockOptions,
  type LockPort,
  Locking,
  type Locks,
  type Watchdog,
} from '@latchkey/lock'
import {
  type Acquirer,
  type As,
  type BackupOptions,
  type Bytes,
  type CallOptions,
  type CloseOptions,
  type Decoding,
  type Duration,
  closeArgs,
  LatchkeyError,
  encodeCommand,
  type MemberCalls,
  OP,
  type OnUndecodable,
  type Owner,
  type SessionCalls,
  type SnapshotResult,
  type Status,
  type StoreEvents,
} from '@latchkey/protocol'
import { Engine } from '../engine/engine.js'
import type { Route } from '../engine/route.js'
import { attempt } from './reject-not-throw.js'
import { backupToFile } from './backup-file.js'
import { Cluster } from './cluster-calls.js'
import { type HoldGuard, TypedKeyValues } from './key-values.js'
import { lockPort } from './lock-port.js'
import type { Store } from './store.js'

export interface StoreOptions {
  /** Embedded: the own member alone. Remote: addresses, and how to dial one. */
  readonly route: Route
  readonly clock: Clock
  readonly random: Random
  /** 128 random bits in hex. */
  readonly newId: () => string
  readonly as?: As | undefined
  readonly onUndecodable?: OnUndecodable | undefined
  /** ms; default 30 s. */
  readonly sessionLife?: number | undefined
  readonly drift?: number | undefined
  /** Runs once, after everything pending was ended: the member's own stop. */
  readonly closeHook?: (() => Promise<void>) | undefined
}

export const DEFAULT_SESSION_LIFE = 30_000
/** Milliseconds: a change of leader is over by then. */
const RELEASE_PATIENCE = 2_000

/** Begins to dial at once; every call waits for a link as long as its deadline allows. */
export function createStore(options: StoreOptions): Store {
  return new ClientStore(options)
}

export class ClientStore<S extends As = 'bytes'> extends TypedKeyValues<S> implements Store<S> {
  readonly engine: Engine
  readonly members: MemberCalls
  readonly sessions: SessionCalls
  readonly locks: Locks<S>
  /** What the lock objects stand on; also for doors that hold locks under their callers' ids. */
  readonly lockPort: LockPort
  readonly #cluster: Cluster
  readonly #locking: Locking<S>
  readonly #closed: AbortController
  readonly #closeHook: (() => Promise<void>) | undefined
  #closing: Promise<void> | undefined

  constructor(options: StoreOptions) {
    const { route, clock, random, as = 'bytes', onUndecodable = 'error', newId } = options
    const decoding: Decoding = { as, onUndecodable }
    const engine = new Engine({
      route,
      clock,
      random,
      sessionLife: options.sessionLife ?? DEFAULT_SESSION_LIFE,
      drift: options.drift ?? DEFAULT_DRIFT,
    })
    super(engine, decoding)
    this.engine = engine
    this.#closed = new AbortController()
    this.#closeHook = options.closeHook
    this.#cluster = new Cluster(engine)
    this.members = this.#cluster.members
    this.sessions = this.#cluster.sessions
    const guarded = (hold: HoldGuard) => new TypedKeyValues<S>(engine, decoding, hold)
    this.lockPort = lockPort({ engine, clock, decoding, newId, closed: this.#closed.signal, guarded })
    this.#locking = new Locking<S>(this.lockPort)
    this.locks = this.#locking.locks
  }

  // ---- locks

  getDistributedLock(
    key: Bytes,
    lease: Duration,
    watchdog?: Watchdog,
    options?: LockOptions,
  ): DistributedLock {
    return this.#locking.getDistributedLock(key, lease, watchdog, options)
  }

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

  // ---- the cluster

  ready(options?: CallOptions): Promise<void> {
    return this.#cluster.ready(options)
  }

  status(options?: CallOptions): Promise<Status> {
    return this.#cluster.status(options)
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

  // ---- events

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

  // ---- the end

  close(options?: CloseOptions): Promise<void> {
    return attempt(() => {
      const holds = closeArgs(options)
      this.#closing ??= this.#close(holds)
      return this.#closing
    })
  }

  /**
   * The holds are released, and the session ended that keys are bound to, while the engine still has its link, and before an embedded member hands over and stops. A cluster that
   * does not answer delays the close by RELEASE_PATIENCE and no more: the leases then run out.
   */
  async #close(holds: 'release' | 'keep'): Promise<void> {
    const why = new LatchkeyError('ERR_CLOSED')
    this.#closed.abort(why)
    const last = () => [
      ...(holds === 'release' ? [this.#locking.releaseForClose(why, RELEASE_PATIENCE)] : []),
      ...(this.engine.ephemeralKeys.exist ? [this.#endSession()] : []),
    ]
    if (holds === 'release' || this.engine.ephemeralKeys.exist)
      await Promise.allSettled(this.engine.closing(last))
    this.engine.close()
    await this.#closeHook?.()
  }

  /** What is bound to it goes with it. Waited for: an embedded member is stopped next, and would not hear of it. */
  #endSession(): Promise<unknown> {
    const limits = { timeout: RELEASE_PATIENCE, signal: undefined }
    return this.engine.command(encodeCommand([OP.closeSession]), limits, (x) => x)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
