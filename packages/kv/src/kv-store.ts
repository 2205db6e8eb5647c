// Types: the calls that a member makes to its key-value state machine. Consensus makes further calls to every
// state machine.

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
import type { StateDigest } from './state-digest.js'
import type { CountsByKind, LockFigures } from './state/lock-counts.js'
import type { PartyCounts } from './state/latches-and-barriers.js'
import type { LevelFigures } from './storage/level-figures.js'
import type { RowHome } from './storage/row-store.js'

export interface KvOptions {
  /**
   * Where the rows are kept: `classicHome(dir)` on a disk, `memoryLevelHome()` in memory, or `new
   * SimulatedRowHome(...)` in a simulation.
   */
  readonly home: RowHome
  readonly clock: Clock
  readonly logger?: Logger
  /**
   * The store calls this function when a waiter is granted a lock. The member to which the waiter's session
   * is connected then sends the grant to the client. The store does not wait for the sending.
   */
  readonly granted?: (session: number, key: Uint8Array, owner: OwnerResult) => void
  /**
   * The store calls this function when the wait of a client at a latch or barrier has ended. If many waits
   * end at once, the calls are spread over several turns of the event loop.
   */
  readonly ended?: (session: number, ticket: PartyTicket, result: PartyResult) => void
  /**
   * The store calls this function once, when the disk has failed or a row is damaged. The member must then
   * stop. From then on `apply` and `flush` reject.
   */
  readonly failed?: (error: LatchkeyError) => void
  /**
   * The store calls this function with the state hash after the first entry of each half minute of cluster
   * time. That entry is the same on every member, so the members can compare their hashes.
   *
   * The store applies the next entry only after the returned promise has settled. Until then `digestAt` can
   * return exactly the hashed state.
   */
  readonly onStateHash?: (hash: StateHash) => Promise<unknown> | undefined
  readonly limits?: Partial<KvLimits>
  /**
   * Runs the function (by setImmediate) in a later turn of the event loop, after everything that is due by
   * then.
   */
  readonly nextTurn: (run: () => void) => void
  /**
   * Runs the function after everything that is sent in this turn of the event loop. With `later`, the store
   * reads rows ahead for reads and puts that are announced. Without `later`, nothing is read ahead.
   */
  readonly later?: (run: () => void) => void
}

/**
 * The limits of a store. Tests make them small. A limit that is marked (replicated) changes what a command
 * does, so all members must have the same value.
 */
export interface KvLimits {
  /** In ms. The overlay is written at the latest this long after its first change. */
  readonly flushMillis: number
  /** The overlay is written when it has this many bytes, without the events. */
  readonly flushBytes: number
  /** The overlay is written when it has this many bytes of events. */
  readonly flushEventBytes: number
  /** When the overlay has more bytes than this, no entry is applied until the disk has caught up. */
  readonly overlayBytes: number
  /**
   * How many views may be open at once, in total and for one client. A further view is refused with ERR_BUSY.
   */
  readonly views: number
  readonly viewsOfOne: number
  /** In ms. A view that no client has used for this long is closed. */
  readonly viewIdleMillis: number
  /**
   * How many watches may be open at once, in total and for one client. A further watch is refused with
   * ERR_BUSY.
   */
  readonly watches: number
  readonly watchesOfOne: number
  /**
   * How many events, and how many bytes of them, the history keeps (replicated). When there are more, the
   * oldest revisions are dropped.
   */
  readonly events: number
  readonly eventBytes: number
  /**
   * How much work one command may make (replicated). A larger command is refused with ERR_TOO_LARGE. A
   * deleteRange that is not a step of a batch has no limit.
   */
  readonly budget: BudgetLimits
  /** How many sessions there may be in total (replicated). A further session is refused with ERR_BUSY. */
  readonly sessions: number
  /** How many sessions one identity may open (replicated). A further session is refused with ERR_BUSY. */
  readonly sessionsOfOne: number
  /**
   * A session without holds and waiters is idle after this many ms of cluster time without a command. An idle
   * session may be ended to make room for a new one (replicated).
   */
  readonly sessionIdleMillis: number
  readonly sessionNumbers: number
  readonly sessionAnswerBytes: number
}

/** A range of keys. `start` is in the range, and `end` is not. null means no limit. */
export interface KeyRange {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
}

export interface WatchSink {
  /**
   * Receives the events of whole revisions, in order, without gaps or repeats. After this call all events up
   * to the revision `upTo` have been delivered. The list may be empty. Such a call only reports `upTo`.
   */
  events(events: readonly EventResult[], upTo: number): void
  /**
   * Called once, as the last call, when the watch has ended with ERR_COMPACTED, ERR_CLOSED or another error.
   */
  over(error: LatchkeyError): void
}
export interface Watch {
  /**
   * Permits the watch to send this many more events. A new watch may send none before the first call. A
   * revision is never split, so its events may exceed the permitted number.
   */
  more(events: number): void
  /** Ends the watch. `over` is not called. */
  close(): void
}

/**
 * Hashes of the state at `position`. The hashes are equal on all members that have applied the same entries.
 * Each key space has its own hash, so that a difference can be traced to its key space.
 */
export interface StateHash {
  readonly position: LogPosition
  readonly hash: string
  readonly spaces: Readonly<Record<string, string>>
}

/** Answers the questions of a member about sessions, without an entry in the log. */
export interface OpenSessions {
  readonly size: number
  /** How many latches and barriers exist, and how many clients wait at them. */
  readonly partyCounts: PartyCounts
  /** How many holds and waiters of each kind exist. Undefined while the store has no state. */
  readonly lockFigures: LockFigures | undefined
  openerOf(session: number): string | undefined
  /** All open sessions, in the order of their ids. */
  list(): SessionResult[]
  /** Returns the reason why no client can open a session now. Undefined if a session can be opened. */
  whyNone(): string | undefined
  /**
   * Returns the refusal that `openSession` would get for this identity now, or undefined if the call would
   * succeed. With a refusal the member answers at once and writes no entry to the log.
   */
  refusalFor(by: string): Uint8Array | undefined
}

/** Numbers for metrics. No decision of the code depends on these numbers. */
export interface StoreFigures {
  /** How many watches are open, of keys and of locks. */
  readonly watches: number
  /** How many revisions of keys, or events of locks, the slowest watch of each kind has not read yet. */
  readonly watchLags: WatchLags
  /** How many seconds each batch took that was written to the store and synced. */
  readonly writes: Histogram
  readonly level: LevelFigures | undefined
  /**
   * How long the oldest waiter of each kind has waited, in ms of cluster time. Undefined if there is no
   * state.
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
   * Answers a read from the local state. The caller has made sure that the state is recent enough
   * (ReadIndex). `now` is the cluster time that was confirmed for the read. If the state's own time is later,
   * that time is used. The results are those of protocol's results.ts. Most results are returned at once. A
   * page of rows and a piece of a backup are returned as promises. `by` names the client, because one client
   * may use only a part of the views and watches. Throws a LatchkeyError: ERR_CORRUPT, ERR_BUSY (too many
   * views), ERR_COMPACTED (the view is closed), ERR_PROTOCOL.
   */
  read(read: Read, now?: number, by?: string): unknown
  /**
   * Announces a read whose ReadIndex round is still under way. The store reads the row from the disk
   * meanwhile. An announcement only saves time: `read` gives the answer.
   */
  expect(read: Read): void
  /**
   * Announces the body of a plain put (`isPlainPut`) that will soon be in the log. The store reads the row
   * that the put replaces. An announcement only saves time.
   */
  expectPut(body: Uint8Array): void
  /**
   * Announces the body of a deleteRange that the leader is about to write into its log. The store counts and
   * sums the range now, so that the command takes little time when it is applied.
   *
   * Resolves when the counting has succeeded or failed. Returns undefined if the command is no deleteRange.
   * An announcement only saves time.
   */
  survey(body: Uint8Array): Promise<void> | undefined
  /** Closes these views, because the connection that opened them has ended. */
  closeViews(views: Iterable<number>): void
  /**
   * Opens a watch. `from` is the first revision to send. 0 means the revision after the store's current one.
   */
  watch(range: KeyRange, from: number, sink: WatchSink, by?: string, of?: WatchOf): Watch
  /**
   * Writes everything that is applied, then frees the disk space of removed rows. Reads and writes go on
   * meanwhile.
   */
  reclaim(): Promise<void>
  readonly position: LogPosition
  readonly revision: number
  stateHash(): StateHash
  /**
   * Estimates the work of applying the command, in the units of rules/apply-work-limit.ts. `bytes` is the
   * length of the command.
   */
  weigh(command: Command, bytes: number): number
  readonly openSessions: OpenSessions
  readonly figures: StoreFigures
  /**
   * Returns a view of the whole state after the entry `index`, or undefined if a later entry has been applied
   * already. The caller must close the view.
   */
  digestAt(index: number): Promise<StateDigest | undefined>
}
