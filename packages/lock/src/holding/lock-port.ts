// Types: what the lock objects need from a store. The client's session engine implements it.

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
import type { ClusterBound } from './cluster-time-bound.js'
import type { LockWatchEvent } from './lock-watch-event.js'

export interface LockCallOptions {
  /** In milliseconds. Without it the call has no limit: only `close` or the signal ends it. */
  readonly timeout?: number | undefined
  /** Used instead of a timeout: a time of clock.now(). */
  readonly due?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A command that was accepted for sending. */
export interface LockCall {
  /** Whether the command was sent to a member at least once. Before that it waits in this process. */
  readonly sent: boolean
  /**
   * The decoded result. Rejects only with a LatchkeyError. Its `outcome: 'not-applied'` proves that the
   * command will never be applied; `'unknown'` says that it was sent.
   * Before the promise settles, the engine has passed to `bound` what the answer proves.
   */
  readonly result: Promise<unknown>
  /**
   * For a call whose `result` was rejected with outcome 'unknown': resolves when the command can no longer be
   * applied later than now. That is so when a cancelCall was answered, when `done` has passed its number, or
   * when its session is over.
   * The engine asks in the background, without limit. Rejects with ERR_CLOSED when the store closes. Every
   * call returns the same promise.
   */
  settled(): Promise<void>
}

export type WaitKind = 'lock' | 'semaphore' | 'election' | 'web_lock' | 'lock_set' | 'latch' | 'barrier'

/** Follows waits and works for those who listen to them. */
export interface Observer {
  /** Whether somebody listens. Asked before each of the following calls, so that they cost nothing otherwise. */
  readonly isOn: boolean
  wait<T>(
    kind: WaitKind,
    keys: readonly Uint8Array[],
    isGranted: (result: T) => boolean,
    run: () => Promise<T>,
  ): Promise<T>
  work<T>(key: Uint8Array, fencingToken: number, run: () => Promise<T>): Promise<T>
}

/** What the lock objects of one store count. */
export interface HoldingCounts {
  /** Callers that wait in a queue, at a latch or at a barrier now. */
  waiting: number
  /** Holds that were lost. */
  lost: number
}

export interface LockPort {
  readonly clock: Clock
  /** undefined: nobody can listen. */
  readonly observer?: Observer | undefined
  /** undefined: nobody asks for the counts. */
  readonly counts?: HoldingCounts | undefined
  /** One per store. The engine calls meet() at each handshake and learn() for each answer. */
  readonly bound: ClusterBound
  /**
   * The members' election timeout in ms. A change of leader takes one to two of these. 0 if it is
   * not known yet.
   */
  electionTimeout(): number
  /** The error for a wait that ends now while no leader is known. Undefined if a leader is known. */
  noLeader(): LatchkeyError | undefined
  /** How the store decodes the keys that it returns. */
  readonly decoding: Decoding
  /** Aborted, with the ERR_CLOSED error as its reason, when the store closes. */
  readonly closed: AbortSignal

  /** A new acquirer id: 128 random bits in hex. */
  newId(): string
  /**
   * Sends the command in the session, which applies it at most once. It never throws: any error
   * rejects `result`.
   */
  command(command: Command, options?: LockCallOptions): LockCall
  /** Watches the locks with keys from `start` to `end`, from now on. */
  watchLocks(options: {
    readonly start: Uint8Array | null
    readonly end: Uint8Array | null
    readonly renewals: boolean
    /**
     * True for an election. The watch begins with the present hold, or with a release if there is none. If an
     * entry has both a release and the next hold, the release is left out.
     */
    readonly isElection?: boolean
    readonly decoding: Decoding
    readonly signal: AbortSignal | undefined
  }): AsyncIterableIterator<LockWatchEvent<As>>
  /** A linearizable read. */
  read(read: Read, options?: LockCallOptions): Promise<unknown>
  /**
   * Calls `run` for each pushed grant of that ticket. It must be called before the request is sent. The
   * returned function ends the calls.
   */
  onGranted(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): () => void
  /**
   * Calls `run` after each reconnect or new session, but not after the first. From then on grants are pushed
   * again, and tickets must be read because a push may have been missed.
   * After a new session the caller must ask for its place in a queue again: the place belongs to the old
   * session, and is lost with it.
   */
  onAttached(run: (isNewSession: boolean) => void): () => void
  /**
   * Returns key-value calls whose writes carry the guard of that moment. Reads carry none. `knownLost` is
   * called at each write. If it returns true, the write rejects with ERR_FENCED and no request is sent.
   */
  guardedKv(guard: () => GuardArg, knownLost: () => boolean): KeyValueCalls<As>
}
