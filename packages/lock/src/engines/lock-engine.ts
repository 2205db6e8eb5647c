// Types: what a lock engine must do, so that the lock objects of this package work over it: PostgreSQL,
// Redis, etcd, or memory. `engineSuite` of @latchkey/locks tests these laws on any engine.
//
// Laws of an engine (docs/engines.md tells the story of each):
// - EN1: at most one hold of a lock is in force, by the engine's own clock: from its take until the clock is
//   above its deadline, or until it is ended by release, cancel or forceRelease.
// - EN2: each new hold, and each rotation, has a token above every token that this lock had before, also after
//   a restart. An engine with fencing 'none' promises this for no one.
// - EN3: what a take, a renewal or a rotation answers as the deadline is never moved back.
// - EN4: a take whose `before` is over changes nothing and answers LATE. So a request that was lost on its way
//   cannot take the lock after its caller has given up and cancelled it.
// - EN5: an id that was cancelled holds nothing and waits nowhere, unless a later take names it.
// - EN6: with queue 'fair' nobody takes a free lock while another waits before it. A waiter that has not asked
//   again within its patience has left: a process that died must not block the others.
// - EN7: with wakeUp 'push' the first waiter of a lock is told, soon after the hold before it was released.
//   With both it asks again at last after `again`: a push may be lost.
// - EN8: `now` is read at the engine after the request was sent, in whole milliseconds, rounded down; a hold is
//   over when that number is above its deadline. The proof of ARCHITECTURE.md needs this.

import type { ContextArg, LockInfoResult, OwnerCode } from '@latchkey/protocol'

export interface Capabilities {
  /**
   * enforced: a write with an old token is refused where the data is. told: tokens rise, and whoever writes
   * must compare them. none: a token says nothing.
   */
  readonly fencing: 'enforced' | 'told' | 'none'
  /** fair: waiters are served in the order of their arrival. */
  readonly queue: 'fair' | 'unfair'
  /** push: a release wakes the next waiter at once. poll: it asks again and again. */
  readonly wakeUp: 'push' | 'poll'
  /** Which loss of a server a hold outlives: of one among several, of the only one if it comes back, or none. */
  readonly survives: 'failover' | 'restart' | 'nothing'
  /** Whose clock ends a lease: that of one server, one that several agree on, or that of each client. */
  readonly time: 'server' | 'cluster' | 'client'
}

/** A hold in force. Times are of the engine's clock, in ms. */
export interface EngineHold {
  readonly id: string
  readonly token: number
  readonly deadline: number
  /** How often its owner took it. */
  readonly acquires: number
  readonly context: ContextArg
}

export interface TakeRequest {
  readonly key: Uint8Array
  /** Names the caller; made by it for one hold. A take by the holder's id counts one acquire more. */
  readonly id: string
  /** In ms. */
  readonly lease: number
  /** null: leave the context as it is, or none. */
  readonly context: ContextArg
  /** Whether the caller waits in the queue if another has the lock. */
  readonly queues: boolean
  /** In ms: for how long the place in the queue is kept without another take. */
  readonly patience: number
  /** In engine time: above it the take is void (EN4). */
  readonly before: number
}

export interface Timed {
  /** The engine's clock (EN8). */
  readonly now: number
}

/**
 * FIRST_TIME: nobody had it. NEW_ACQUIRE: the hold before had expired. REENTRANT: this id had it. HELD: another
 * has it, which `hold` tells, or waits for it. LATE: see EN4.
 */
export interface TakeAnswer extends Timed {
  readonly code: Extract<OwnerCode, 'FIRST_TIME' | 'NEW_ACQUIRE' | 'REENTRANT' | 'HELD'> | 'LATE'
  readonly hold: EngineHold | undefined
  /** Whether the caller waits in the queue now. */
  readonly queued: boolean
  /** In ms: when the waiter must ask again, if no push comes before. Default: after the poll interval. */
  readonly again?: number | undefined
}

export interface RenewRequest {
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
}

/** `hold`: the caller's own, as it was; with NOT_OWNER that of another. */
export interface ReleaseAnswer extends Timed {
  readonly code: Extract<OwnerCode, 'RELEASED' | 'DECREMENTED' | 'NOT_HELD' | 'EXPIRED' | 'NOT_OWNER'>
  readonly hold: EngineHold | undefined
}

/**
 * Each call is one atomic step at the engine. A call that fails rejects with a LatchkeyError:
 * `notReached(cause)` if it was never sent, `mayHaveArrived(cause)` if it was; another one ends the caller's
 * attempt. Calls need no timeout of their own: the port waits 5 s for each.
 */
export interface LockEngine {
  readonly capabilities: Capabilities
  take(request: TakeRequest): Promise<TakeAnswer>
  /** Prolongs holds; one answer each, in their order. undefined: that hold is not in force any more. */
  renew(
    list: readonly RenewRequest[],
  ): Promise<Timed & { readonly holds: readonly (EngineHold | undefined)[] }>
  /** Takes one acquire back, or all; the last one ends the hold. */
  release(key: Uint8Array, id: string, all: boolean): Promise<ReleaseAnswer>
  /** Ends holds and waits of these ids (EN5). Answers the tokens of the holds that were in force, else 0. */
  cancel(
    tickets: readonly { readonly key: Uint8Array; readonly id: string }[],
  ): Promise<Timed & { readonly tokens: readonly number[] }>
  /** Gives the hold of that id the next token. undefined: it is not in force any more. */
  rotate(key: Uint8Array, id: string): Promise<Timed & { readonly hold: EngineHold | undefined }>
  /** Ends the hold with that token. Answers whether it was in force. */
  forceRelease(key: Uint8Array, token: number): Promise<Timed & { readonly ended: boolean }>
  /**
   * The holds in force, in the order of their keys: all, those of one key, or those of a prefix. `queue`: with
   * who waits, in order.
   */
  query(of: {
    readonly prefix: Uint8Array | null
    readonly isKey: boolean
    readonly queue: boolean
  }): Promise<Timed & { readonly rows: readonly LockInfoResult[] }>
  /** Reads the clock alone. */
  time(): Promise<Timed>
  /**
   * Calls `wake` with the id of a waiter that may have its turn now, or with undefined where pushes may have
   * been missed. The returned function ends it. An engine without pushes never calls it.
   */
  listen(wake: (id: string | undefined) => void): () => void
  /** Ends what the engine itself has opened. Called once, after the last call. */
  close(): Promise<void>
}
