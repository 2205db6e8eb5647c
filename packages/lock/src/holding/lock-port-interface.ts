// Types: LockPort, which contains everything that lock objects need from a store. The client of a Latchkey
// store implements LockPort, and EnginePort implements LockPort for the lock engines.

import type { Clock } from '@latchkey/base'
import type {
  As,
  Command,
  Decoding,
  GuardArg,
  KeyValueCalls,
  LatchkeyError,
  OwnerResult,
  Read,
} from '@latchkey/protocol'
import type { ClusterTimeBound } from './cluster-time-bound.js'
import type { LockWatchEvent } from './lock-watch-types.js'

export interface LockCallOptions {
  /** In ms. A call without a timeout waits for its answer until the store closes or `signal` aborts. */
  readonly timeout?: number | undefined
  /** Used instead of a timeout: the value of clock.now() at which the call ends. */
  readonly due?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A command that was accepted for sending. */
export interface LockCall<T = unknown> {
  readonly sent: boolean
  /**
   * The result. Rejects with a LatchkeyError. The outcome 'not-applied' of the error proves that the
   * command will never be applied. The outcome 'unknown' says that the command was sent and may be applied.
   * Before the promise settles, the store has passed the answer's cluster time to `LockPort.bound`.
   */
  readonly result: Promise<T>
  /**
   * Resolves when it is certain that the command cannot be applied any more, or was applied already. Called
   * after `result` was rejected with the outcome 'unknown'. In a store, the proof is a late final answer to
   * the command, the answer to a later command that cancels the command (cancelCall), or the end of the
   * session. In another lock engine, the proof is that each attempt was answered or refused, or that the
   * engine's clock has passed the time limit of each attempt.
   *
   * The store sends requests in the background until the store has the proof. The promise rejects with
   * ERR_CLOSED when the store closes.
   */
  whenFinal(): Promise<void>
}

export interface CallListener {
  /** Called before `result` rejects because the call has failed. May also be called for an error of `take`. */
  callFailed(call: LockCall, error: unknown): void
}

export type WaitKind = 'lock' | 'semaphore' | 'election' | 'web_lock' | 'lock_set' | 'latch' | 'barrier'

/** Reports waits, and work that runs under a lock, to tracing. */
export interface Observer {
  /**
   * Whether a tracer or a listener exists. Callers check this field before they call `wait` or `work`, so
   * that a store without listeners loses no time.
   */
  readonly isOn: boolean
  wait<T>(
    kind: WaitKind,
    keys: readonly Uint8Array[],
    isGranted: (result: T) => boolean,
    run: () => Promise<T>,
  ): Promise<T>
  work<T>(key: Uint8Array, fencingToken: number, run: () => Promise<T>): Promise<T>
}

export interface HoldingCounts {
  waiting: number
  lost: number
}

export interface LockPort {
  readonly clock: Clock
  readonly observer?: Observer | undefined
  readonly counts?: HoldingCounts | undefined
  /** The store calls `setCluster` at each handshake and `learn` for each answer. */
  readonly bound: ClusterTimeBound
  /**
   * The members' election timeout in ms, or 0 if the timeout is not known yet. A change of leader takes one
   * to two election timeouts.
   */
  electionTimeout(): number
  noLeader(): LatchkeyError | undefined
  readonly decoding: Decoding
  /** Aborted, with the ERR_CLOSED error as its reason, when the store closes. */
  readonly closed: AbortSignal

  newId(): string
  /**
   * Sends the command in the session of the store, so that the command is applied at most once. The call
   * never throws: any error rejects `result`.
   *
   * `take` makes the result from the answer, or throws the error with which `result` rejects. Without `take`,
   * the answer is the result. `take` and `listener` replace `result.then(take, ...)`, which would cost one more
   * promise for each command of a lock.
   */
  command<T = unknown>(
    command: Command,
    options?: LockCallOptions,
    take?: (answer: unknown) => T | Promise<T>,
    listener?: CallListener,
  ): LockCall<T>
  /** Watches the locks with keys from `start` to `end`. null means no bound. */
  watchLocks(options: {
    readonly start: Uint8Array | null
    readonly end: Uint8Array | null
    readonly renewals: boolean
    /**
     * True for an election. The watch begins with the present hold, or with a release if there is no hold. If
     * one log entry has a release and also the next hold, the watch leaves the release out.
     */
    readonly isElection?: boolean
    readonly decoding: Decoding
    readonly signal: AbortSignal | undefined
  }): AsyncIterableIterator<LockWatchEvent<As>>
  /** A linearizable read. */
  read(read: Read, options?: LockCallOptions): Promise<unknown>
  /**
   * Calls `run` for each grant of the lock `key` that the leader pushes to the acquirer `id`. Call this
   * method before you send the acquire request, or a grant may be missed. The returned function ends the
   * calls.
   */
  onGranted(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): () => void
  /**
   * Calls `run` after each reconnect or new session, but not after the first session. From that moment,
   * grants are pushed again. An earlier push may have been missed, so the caller must read the state of each
   * of its waiters.
   *
   * After a new session the caller must also ask for its place in a queue again. The place belongs to the old
   * session and is lost with that session.
   */
  onAttached(run: (isNewSession: boolean) => void): () => void
  /**
   * Returns key-value calls. Each write carries the guard that `guard` returns at that moment. If `knownLost`
   * returns true, a write rejects with ERR_FENCED and no request is sent.
   */
  guardedKv(guard: () => GuardArg, knownLost: () => boolean): KeyValueCalls<As>
}

/** Adds `take` and `listener` of `LockPort.command` to a call without them. */
export function taken<T>(
  call: LockCall,
  take?: (answer: unknown) => T | Promise<T>,
  listener?: CallListener,
): LockCall<T> {
  const result = call.result.then(take, (error: unknown) => {
    listener?.callFailed(call, error)
    throw error
  }) as Promise<T>
  return {
    result,
    get sent() {
      return call.sent
    },
    whenFinal: () => call.whenFinal(),
  }
}
