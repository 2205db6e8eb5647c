// Driver: the calls that a store and its subs have in common. `store.sub(prefix)` makes a sub, which adds its
// prefix to each key. The prefix of the store itself is empty.
//
// Law (SV3): nothing belongs to a sub except its prefix and its encoding. A sub shares the session, the
// renewals and the holds of the store. So a new sub costs nothing and needs no close, and a service may make
// a sub for each request.

import type { Clock } from '@latchkey/base'
import {
  type DistributedLock,
  type Elections,
  type LockOptions,
  type LockPort,
  Locking,
  type Locks,
  type Semaphores,
  type Watchdog,
  type WebLocks,
} from '@latchkey/lock'
import { type As, type Bytes, type Decoding, type Duration, subArgs } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { appliedOnce, type CallsAppliedOnce, type KeptAt } from './apply-once.js'
import { Barriers } from './barriers.js'
import { type HoldGuard, TypedKeyValues } from './key-value-calls.js'
import { Latches } from './latches.js'
import { lockPort, partyPort } from './lock-port-of-store.js'
import type { SubOptions, SubStore } from './store-interface.js'

interface StoreParts {
  readonly engine: Engine
  readonly clock: Clock
  readonly newId: () => string
  readonly closed: AbortSignal
  readonly parties: Set<object>
  /** With `keptAt`, each command is applied only once, and the cluster keeps its answer there. */
  readonly keptAt?: KeptAt
}

export function portOf<S extends As>(parts: StoreParts, decoding: Decoding): LockPort {
  const guarded = (hold: HoldGuard) => new TypedKeyValues<S>(parts.engine, decoding, hold)
  const port = lockPort({ ...parts, decoding, guarded })
  const { keptAt } = parts
  if (keptAt === undefined) return port
  return {
    ...port,
    command: (command, limits, take, listener) =>
      port.command(appliedOnce(command, keptAt), limits, take, listener),
  }
}

export class PrefixedStore<S extends As> extends TypedKeyValues<S> implements SubStore<S> {
  readonly locks: Locks<S>
  readonly semaphores: Semaphores<S>
  readonly elections: Elections<S>
  readonly webLocks: WebLocks
  readonly latches: Latches
  readonly barriers: Barriers
  /**
   * The port that lock objects use. The HTTP interface of a member also uses this port, for the lock calls of
   * HTTP callers.
   */
  readonly lockPort: LockPort
  readonly #parts: StoreParts
  readonly #decoding: Decoding
  readonly #locking: Locking<S>

  constructor(parts: StoreParts, decoding: Decoding, locking: Locking<S>) {
    super(parts.engine, decoding, undefined, parts.keptAt)
    this.#parts = parts
    this.#decoding = decoding
    this.#locking = locking
    this.locks = locking.locks
    this.semaphores = locking.semaphores
    this.elections = locking.elections
    this.webLocks = locking.webLocks
    this.lockPort = portOf<S>(parts, decoding)
    const port = partyPort(parts, this.lockPort)
    this.latches = new Latches(port, decoding.prefix)
    this.barriers = new Barriers(port, decoding.prefix)
  }

  getDistributedLock(
    key: Bytes,
    lease: Duration,
    watchdog?: Watchdog,
    options?: LockOptions,
  ): DistributedLock {
    return this.#locking.getDistributedLock(key, lease, watchdog, options)
  }

  sub<A extends As = S>(prefix: Bytes, options?: SubOptions<A>): SubStore<A> {
    const decoding = subArgs(prefix, options, this.#decoding)
    const locking = new Locking<A>(portOf<A>(this.#parts, decoding), this.#locking)
    return new PrefixedStore<A>(this.#parts, decoding, locking)
  }

  /** Internal: the HTTP interface of a member uses this method for requests with an Idempotency-Key. */
  appliedOnce(keptAt: KeptAt): CallsAppliedOnce<S> {
    const parts = { ...this.#parts, keptAt }
    const locking = new Locking<S>(portOf<S>(parts, this.#decoding), this.#locking)
    return new PrefixedStore<S>(parts, this.#decoding, locking)
  }
}
