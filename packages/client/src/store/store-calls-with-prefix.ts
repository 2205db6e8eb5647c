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
}

export function portOf<S extends As>(parts: StoreParts, decoding: Decoding): LockPort {
  const guarded = (hold: HoldGuard) => new TypedKeyValues<S>(parts.engine, decoding, hold)
  return lockPort({ ...parts, decoding, guarded })
}

export class PrefixedStore<S extends As> extends TypedKeyValues<S> implements SubStore<S> {
  readonly locks: Locks<S>
  readonly semaphores: Semaphores<S>
  readonly elections: Elections<S>
  readonly webLocks: WebLocks
  readonly latches: Latches
  readonly barriers: Barriers
  readonly #parts: StoreParts
  readonly #decoding: Decoding
  readonly #locking: Locking<S>

  constructor(parts: StoreParts, decoding: Decoding, locking: Locking<S>) {
    super(parts.engine, decoding)
    this.#parts = parts
    this.#decoding = decoding
    this.#locking = locking
    this.locks = locking.locks
    this.semaphores = locking.semaphores
    this.elections = locking.elections
    this.webLocks = locking.webLocks
    const port = partyPort(parts, portOf<S>(parts, decoding))
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
}
