// Types: what a lock engine must do, so that the lock objects of this package work over the engine. There are
// engines for PostgreSQL, Redis, etcd, and memory. `engineSuite` of @latchkey/locks tests these laws on any
// engine.
//
// Laws of an engine (docs/engines.md says what goes wrong without each law):
// - EN1: at most one hold of a lock is in force, by the engine's own clock. A hold is in force from its take
//   until its deadline, or until release, cancel or forceRelease ends the hold.
// - EN2: each new hold, and each rotation, has a token above every earlier token of this lock, even after a
//   restart. This law does not bind an engine with fencing 'none'.
// - EN3: the deadline that a take, a renewal or a rotation has answered is never moved to an earlier time.
// - EN4: a take request that arrives after its time `before` changes nothing, and its answer is LATE. So a
//   delayed request cannot take the lock after its caller has given up and cancelled the request.
// - EN5: an id that was cancelled has no hold and no place in a queue, until a later take names the id.
// - EN6: with queue 'fair' no caller takes a free lock while another caller waits before it. A waiter that
//   has not asked again within its patience is removed from the queue. Otherwise a process that died would
//   block the other waiters.
// - EN7: with wakeUp 'push' the engine wakes the first waiter soon after the release of the hold. With 'push'
//   and with 'poll' the waiter asks again after the time `again` at the latest, because a push may be lost.
// - EN8: `now` is read at the engine after the request was sent, in whole milliseconds, rounded down. A hold
//   is over when `now` is above the deadline of the hold. The proof in ARCHITECTURE.md needs this law.

import type { ContextArg, LockInfoResult, OwnerCode } from '@latchkey/protocol'

export interface Capabilities {
  /**
   * enforced: the server that has the data refuses a write with an old token. told: tokens grow, and the
   * system that receives the writes must compare the tokens. none: tokens have no order.
   */
  readonly fencing: 'enforced' | 'told' | 'none'
  /** fair: in the order of arrival. */
  readonly queue: 'fair' | 'unfair'
  /** push: a release wakes the next waiter immediately. poll: the next waiter asks at regular intervals. */
  readonly wakeUp: 'push' | 'poll'
  /**
   * Which loss a hold survives. failover: the loss of one of several servers. restart: the stop of the only
   * server, if that server starts again. nothing: a hold survives no loss.
   */
  readonly survives: 'failover' | 'restart' | 'nothing'
  /**
   * Whose clock ends a lease: the clock of one server, a clock on which several servers agree, or the clock
   * of each client.
   */
  readonly time: 'server' | 'cluster' | 'client'
}

/** A hold in force. Times are in ms of the engine's clock. */
export interface EngineHold {
  readonly id: string
  readonly token: number
  readonly deadline: number
  readonly acquires: number
  readonly context: ContextArg
}

export interface TakeRequest {
  readonly key: Uint8Array
  /**
   * Names the caller. A caller makes a new id for each new hold, and uses the id of a hold to acquire its
   * lock again. If the id already has the lock, the take adds one acquire to its hold.
   */
  readonly id: string
  readonly lease: number
  /** null leaves the context of an existing hold unchanged. */
  readonly context: ContextArg
  readonly queues: boolean
  /** In ms: a waiter that sends no further take request within this time leaves the queue. */
  readonly patience: number
  /** A time of the engine's clock. A take request that arrives after this time changes nothing (EN4). */
  readonly before: number
}

export interface Timed {
  /** The time of the engine's clock (EN8). */
  readonly now: number
}

/**
 * FIRST_TIME: the lock was free. NEW_ACQUIRE: the earlier hold had expired. REENTRANT: this id has the lock
 * already. HELD: another caller has the lock (see `hold`) or waits for the lock. LATE: the request arrived
 * after its time `before` (EN4).
 */
export interface TakeAnswer extends Timed {
  readonly code: Extract<OwnerCode, 'FIRST_TIME' | 'NEW_ACQUIRE' | 'REENTRANT' | 'HELD'> | 'LATE'
  readonly hold: EngineHold | undefined
  readonly queued: boolean
  /**
   * In ms: the waiter asks again after this time, or earlier after a push. The default is the poll interval.
   */
  readonly again?: number | undefined
}

export interface RenewRequest {
  readonly key: Uint8Array
  readonly id: string
  readonly lease: number
}

/**
 * With DECREMENTED, `hold` is the caller's hold with the acquires that are left. With RELEASED and EXPIRED,
 * `hold` is the caller's hold that has ended. With NOT_OWNER, `hold` is the hold of another caller.
 */
export interface ReleaseAnswer extends Timed {
  readonly code: Extract<OwnerCode, 'RELEASED' | 'DECREMENTED' | 'NOT_HELD' | 'EXPIRED' | 'NOT_OWNER'>
  readonly hold: EngineHold | undefined
}

/**
 * Each call is one atomic step at the engine. A failed call rejects with a LatchkeyError: `notReached(cause)`
 * if the request was never sent, `mayHaveArrived(cause)` if the request was sent but not answered.
 * EngineRequests does not repeat a request after an error that is not retryable, such as `refusedByServer`.
 * An engine needs no timeouts, because EngineRequests waits at most 5 s for each attempt.
 */
export interface LockEngine {
  readonly capabilities: Capabilities
  take(request: TakeRequest): Promise<TakeAnswer>
  /**
   * Prolongs holds. Returns one answer for each hold, in the order of the list. An answer is undefined if its
   * hold is not in force any more.
   */
  renew(
    list: readonly RenewRequest[],
  ): Promise<Timed & { readonly holds: readonly (EngineHold | undefined)[] }>
  /** Releases one acquire, or all acquires if `all` is true. The hold ends with its last acquire. */
  release(key: Uint8Array, id: string, all: boolean): Promise<ReleaseAnswer>
  /**
   * Ends the holds and the waits of these ids (EN5). Returns for each id the token of its hold, or 0 if the
   * id had no hold in force.
   */
  cancel(
    tickets: readonly { readonly key: Uint8Array; readonly id: string }[],
  ): Promise<Timed & { readonly tokens: readonly number[] }>
  /** Gives the hold of that id the next token. `hold` is undefined if the hold is not in force any more. */
  rotate(key: Uint8Array, id: string): Promise<Timed & { readonly hold: EngineHold | undefined }>
  /** Ends the hold with that token. `ended` is true if the hold was in force. */
  forceRelease(key: Uint8Array, token: number): Promise<Timed & { readonly ended: boolean }>
  /**
   * Returns holds in force, in the order of their keys. A prefix of null means all keys. If `isKey` is true,
   * `prefix` is one whole key. If `queue` is true, each hold has its waiters, in the order of their arrival.
   */
  query(of: {
    readonly prefix: Uint8Array | null
    readonly isKey: boolean
    readonly queue: boolean
  }): Promise<Timed & { readonly rows: readonly LockInfoResult[] }>
  /** Reads only the clock. */
  time(): Promise<Timed>
  /**
   * Calls `wake` with the id of a waiter that may get the lock now, or with undefined if pushes may have been
   * missed. The returned function ends the calls. An engine without pushes never calls `wake`.
   */
  listen(wake: (id: string | undefined) => void): () => void
  /** Closes everything that the engine itself has opened. Called once, after the last call. */
  close(): Promise<void>
}
