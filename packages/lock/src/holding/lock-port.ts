// Driver's port: what the lock objects need from a store. The client's session engine implements it.

import type { Clock } from '@latchkey/base'
import type { As, Command, KeyValueCalls, LatchkeyError, OwnerResult, Read } from '@latchkey/protocol'
import type { ClusterBound } from './cluster-time-bound.js'

export interface LockCallOptions {
  /** Milliseconds; absent: without limit, only `close` or the signal end it. */
  readonly timeout?: number | undefined
  /** Instead of a timeout: a time of clock.now(). */
  readonly due?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A command on its way. */
export interface LockCall {
  /** It was handed to a member at least once; before that it waits in this process. */
  readonly sent: boolean
  /**
   * The decoded result. Rejects with a LatchkeyError only; `outcome: 'not-applied'` is a proof that it never will be applied,
   * `'unknown'` says that it was sent. Before it settles, the engine has taught `bound` what the answer proves.
   */
  readonly result: Promise<unknown>
  /**
   * After `result` was rejected with outcome 'unknown': resolves when the command can no longer be applied later than now (a
   * cancelCall was answered, `done` has passed it, or its session is over). The engine goes on asking in the background, without
   * limit; rejects with ERR_CLOSED when the store closes. Asked more than once it gives the same promise.
   */
  settled(): Promise<void>
}

export interface LockPort {
  readonly clock: Clock
  /** One per store; the engine calls meet() at each handshake and learn() for each answer. */
  readonly bound: ClusterBound
  /** Of the members, ms: a change of leader takes one to two of these. 0: not known yet. */
  electionTimeout(): number
  /** The error of a wait that ends now, where nobody is known to lead; undefined: somebody leads. */
  noLeader(): LatchkeyError | undefined
  /** The store's default for `as`; undefined: bytes. */
  readonly as: As | undefined
  /** Aborted, with the ERR_CLOSED error as its reason, when the store closes. */
  readonly closed: AbortSignal

  /** A new acquirer id: 128 random bits in hex. */
  newId(): string
  /** Runs under the session, exactly once. Never throws: what is wrong rejects `result`. */
  command(command: Command, options?: LockCallOptions): LockCall
  /** Linearizable. */
  read(read: Read, options?: LockCallOptions): Promise<unknown>
  /** Called for each pushed grant of that ticket. Registered before the ask is sent. Returns the function that takes it off. */
  onGranted(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): () => void
  /** Called after each reconnect or new session, once grants are pushed again: tickets have to be asked for. Not at the first one. */
  onAttached(run: () => void): () => void
  /**
   * KV calls whose writes carry the guard { key, token }; reads are plain. `knownLost` is asked at each write: true means
   * ERR_FENCED without a request.
   */
  guardedKv(key: Uint8Array, token: number, knownLost: () => boolean): KeyValueCalls
}
