// Types: the calls that a member makes to its key-value state machine. Raft makes the calls that KvStore
// inherits from StateMachine.

import type { Clock, Histogram, Logger } from '@latchkey/base'
import type {
  BudgetLimits,
  Command,
  EventResult,
  LatchkeyError,
  OwnerResult,
  PartyResult,
  PartyTicket,
  Read,
  SessionResult,
  WatchOf,
} from '@latchkey/protocol'
import type { LogPosition } from '@latchkey/raft/core'
import type { StateMachine } from '@latchkey/raft/node'
import type { StateDigest } from './state-row-digests.js'
import type { CountsByKind, LockFigures } from './state/lock-counts.js'
import type { PartyCounts } from './state/latches-and-barriers.js'
import type { LevelFigures } from './storage/leveldb-stats-parser.js'
import type { RowStorage } from './storage/row-store-interface.js'

export interface KvOptions {
  readonly storage: RowStorage
  readonly clock: Clock
  readonly logger?: Logger
  /**
   * Called when a waiter gets its lock. The member that has the connection of the session then sends the
   * grant to the client. The store does not wait for the sending.
   */
  readonly granted?: (session: number, key: Uint8Array, owner: OwnerResult) => void
  /**
   * Called when the wait of a client at a latch or barrier has ended. `ticket` identifies the wait. If one
   * entry ends many waits, the calls come in several turns of the event loop.
   */
  readonly ended?: (session: number, ticket: PartyTicket, result: PartyResult) => void
  /** Called once, when the disk has failed or a row is damaged. The member must then stop. */
  readonly failed?: (error: LatchkeyError) => void
  /**
   * Called with the state hash after the first entry of each half minute of cluster time. Every member
   * computes the hash after the same entry, so the members can compare their hashes.
   *
   * The store applies the next entry only after the returned promise has settled. Until then, `digestAt` can
   * return the hashed state.
   */
  readonly onStateHash?: (hash: StateHash) => Promise<unknown> | undefined
  readonly limits?: Partial<KvLimits>
  /** Calls `run` in a later turn of the event loop, like setImmediate. */
  readonly nextTurn: (run: () => void) => void
  /**
   * Calls `run` at the end of this turn of the event loop, after the turn's messages are sent. Without
   * `later`, the store does not read rows ahead of the commands that need them (`expect`, `expectPut`).
   */
  readonly later?: (run: () => void) => void
}

/**
 * The limits of a store. If the comment of a limit says (replicated), all members must have the same value
 * for this limit, because it changes what a command does.
 */
export interface KvLimits {
  /** In ms, the longest time between a change in memory and its write to the disk. */
  readonly flushMillis: number
  /**
   * When the changes that wait for the next batch have this many bytes, without events, the store writes the
   * batch.
   */
  readonly flushBytes: number
  /** When the events that wait for the next batch have this many bytes, the store writes the batch. */
  readonly flushEventBytes: number
  /**
   * In bytes. If more bytes of changes and events wait for the next batch, the store writes them to the disk
   * before it applies the next entry.
   */
  readonly overlayBytes: number
  /**
   * The most open views of all clients together, and of one client. The store refuses a further view with
   * ERR_BUSY.
   */
  readonly views: number
  readonly viewsOfOne: number
  /** In ms. The store closes a view that no client has used for this long. */
  readonly viewIdleMillis: number
  /**
   * The most open watches of all clients together, and of one client. The store refuses a further watch with
   * ERR_BUSY.
   */
  readonly watches: number
  readonly watchesOfOne: number
  /**
   * The most events, and the most bytes of events, that the store keeps for watches (replicated). Beyond a
   * limit the store drops the oldest revisions.
   */
  readonly events: number
  readonly eventBytes: number
  /**
   * How many rows and bytes one command may read and write (replicated). A deleteRange that is not a step of
   * a batch or txn has no limit.
   */
  readonly budget: BudgetLimits
  /**
   * The most sessions (replicated). Beyond this limit the store ends an idle session for each new session. If
   * no session is idle, the store refuses the new session with ERR_BUSY.
   */
  readonly sessions: number
  /** The most sessions of one identity (replicated). */
  readonly sessionsOfOne: number
  /**
   * In ms of cluster time (replicated). A session without holds and waiters is idle when its client has sent
   * no command for this long.
   */
  readonly sessionIdleMillis: number
  readonly sessionNumbers: number
  readonly sessionAnswerBytes: number
}

/**
 * A range of keys. `start` is in the range, and `end` is not. null means that the range has no limit on that
 * side.
 */
export interface KeyRange {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
}

export interface WatchSink {
  /**
   * Receives the events of whole revisions, in order, without a gap or a repetition. After this call the sink
   * has all events up to the revision `upTo`. The list may be empty.
   */
  events(events: readonly EventResult[], upTo: number): void
  over(error: LatchkeyError): void
}
export interface Watch {
  /**
   * Permits the watch to send this many more events. A new watch sends nothing before the first call. The
   * store never splits a revision, so the last revision may exceed the permitted number.
   */
  more(events: number): void
  /** Ends the watch. The store then does not call `over`. */
  close(): void
}

/**
 * Hashes of the state after the entry at `position`. Members that have applied the same entries have equal
 * hashes. Each key space has its own hash, so that an operator sees which kind of rows differs.
 */
export interface StateHash {
  readonly position: LogPosition
  readonly hash: string
  readonly spaces: Readonly<Record<string, string>>
}

/** The sessions in the state of this member. The methods write no entry to the log. */
export interface OpenSessions {
  readonly size: number
  readonly partyCounts: PartyCounts
  /**
   * How many holds and waiters of each kind (locks, semaphores, elections) exist. Undefined before the store
   * is open.
   */
  readonly lockFigures: LockFigures | undefined
  openerOf(session: number): string | undefined
  list(): SessionResult[]
  /** Returns the reason why no client can open a session now, or undefined if clients can open sessions. */
  whyNone(): string | undefined
  /**
   * Returns the refusal that `openSession` would get for the identity `by` now, or undefined if the call
   * would succeed. The member sends this refusal to the client without an entry in the log.
   */
  refusalFor(by: string): Uint8Array | undefined
}

/** Numbers for metrics. No decision of the code depends on these numbers. */
export interface StoreFigures {
  readonly watches: number
  /**
   * For each kind of watch, how far the slowest watch is behind. The unit is revisions for watches of keys,
   * and log entries for watches of locks and of renewals.
   */
  readonly watchLags: WatchLags
  /** In seconds, the time of each write and sync of a batch of rows. */
  readonly writes: Histogram
  readonly level: LevelFigures | undefined
  /**
   * In ms of cluster time, how long the oldest waiter of each kind has waited. Undefined before the store is
   * open.
   */
  readonly longestWaits: CountsByKind | undefined
}

export interface WatchLags {
  readonly keys: number
  readonly locks: number
  readonly renewals: number
}

export interface KvStore extends StateMachine {
  /**
   * Answers a read from the state of this member. The caller has checked by ReadIndex that the state is
   * recent enough. `now` is the cluster time that ReadIndex confirmed. If the state has a later time, the
   * read uses the later time.
   *
   * protocol/src/result-wire-types.ts defines the results. A page of rows and a piece of a backup are
   * promises, and every other result is a plain value. `by` names the client, because the number of open
   * views of one client is limited. A read fails with a LatchkeyError: ERR_CORRUPT, ERR_BUSY (too many
   * views), ERR_COMPACTED (the view is closed), ERR_TOO_LARGE or ERR_PROTOCOL.
   */
  read(read: Read, now?: number, by?: string): unknown
  /**
   * Announces a read that still waits for ReadIndex. The store reads the row from the disk during this wait.
   */
  expect(read: Read): void
  /**
   * Announces the body of a plain put (`isPlainPut`) that will soon be in the log. The store reads the old
   * row of the key early.
   */
  expectPut(body: Uint8Array): void
  /**
   * Announces the body of a deleteRange that the leader is about to write into its log. The store counts the
   * keys of the range and adds their checksums now, so that the command is applied faster.
   *
   * The promise resolves when the counting has succeeded or failed. Returns undefined if the command is not a
   * deleteRange, if its range is empty, or if too many counts run.
   */
  survey(body: Uint8Array): Promise<void> | undefined
  /** Closes views. Called after the connection that opened the views has ended. */
  closeViews(views: Iterable<number>): void
  /**
   * Opens a watch. `from` is the first revision to send. For a watch of locks, `from` is the index of the
   * first log entry. With `from` 0 the watch sends only events that happen after the call.
   */
  watch(range: KeyRange, from: number, sink: WatchSink, by?: string, of?: WatchOf): Watch
  /**
   * Writes all applied changes to the disk, then frees the disk space of removed rows. The store continues to
   * serve reads and writes.
   */
  reclaim(): Promise<void>
  readonly revision: number
  stateHash(): StateHash
  /**
   * Estimates the work of applying the command, in the units of rules/work-limit-per-event-loop-turn.ts.
   * `bytes` is the length of the encoded command.
   */
  weigh(command: Command, bytes: number): number
  readonly openSessions: OpenSessions
  readonly figures: StoreFigures
  /**
   * Returns a view of the whole state after the entry `index`, or undefined if the store has already applied
   * a later entry. The caller must close the view.
   */
  digestAt(index: number): Promise<StateDigest | undefined>
}
