// Types: what a member gets from its key-value state machine, besides the StateMachine that consensus drives.

import type { Clock, Logger } from '@latchkey/base'
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
import type { LockFigures } from './state/lock-counts.js'
import type { PartyCounts } from './state/parties.js'
import type { RowHome } from './storage/row-store.js'

export interface KvOptions {
  /**
   * Where the rows are kept: `classicHome(dir)`, `memoryLevelHome()` or, in a simulation, `new
   * SimulatedRowHome(...)`.
   */
  readonly home: RowHome
  readonly clock: Clock
  readonly logger?: Logger
  /**
   * Called when a waiter is granted a lock, so that the member to which the waiter's session is connected can
   * push the grant. Nothing waits for it.
   */
  readonly granted?: (session: number, key: Uint8Array, owner: OwnerResult) => void
  /** The same for a party whose wait at a latch or barrier has ended; many are told in several turns. */
  readonly ended?: (session: number, ticket: PartyTicket, result: PartyResult) => void
  /**
   * Called once when the disk failed or a row is damaged: the member must stop. From then on `apply` and
   * `flush` reject.
   */
  readonly failed?: (error: LatchkeyError) => void
  /**
   * Called with the state hash after the first entry of each half minute of cluster time, which is the same
   * entry on every member, however busy they are.
   * The next entry is applied only after the returned promise has settled, so that `frozen` can return
   * exactly that state.
   */
  readonly atMark?: (hash: StateHash) => Promise<unknown> | undefined
  readonly limits?: Partial<KvLimits>
  /**
   * Runs the function in another turn of the event loop, after everything that is due by then (setImmediate).
   */
  readonly nextTurn: (run: () => void) => void
  /**
   * Runs the function after everything that is sent in this turn of the event loop. If it is given, rows are
   * read ahead for reads and puts.
   */
  readonly later?: (run: () => void) => void
}

/**
 * The limits of a store; tests make them small. Those marked (replicated) affect what is applied, so all
 * members must have the same values.
 */
export interface KvLimits {
  /** The overlay is written this many ms after its first change, */
  readonly flushMillis: number
  /** or when it has this many bytes without events, */
  readonly flushBytes: number
  /** or when it has this many bytes of events. */
  readonly flushEventBytes: number
  /** With more bytes in the overlay than this, apply waits for the disk. */
  readonly overlayBytes: number
  /** Views that may be open at once, in total and for one client; beyond it ERR_BUSY. */
  readonly views: number
  readonly viewsOfOne: number
  /** A view that was not used for this long is closed. */
  readonly viewIdleMillis: number
  /** Watches that may be open at once, in total and for one client; beyond it ERR_BUSY. */
  readonly watches: number
  readonly watchesOfOne: number
  /** The events of the history (replicated); beyond it the oldest revisions are dropped. */
  readonly events: number
  readonly eventBytes: number
  /**
   * The work of one command (replicated); beyond it ERR_TOO_LARGE. A deleteRange that is not a step of a
   * batch has no limit.
   */
  readonly budget: BudgetLimits
  /** Sessions in total (replicated); beyond it ERR_BUSY. */
  readonly sessions: number
  /** Sessions opened by one identity (replicated); beyond it ERR_BUSY. */
  readonly sessionsOfOne: number
  /**
   * A session without holds and waiters may be ended for a new one after so many ms of cluster time without a
   * command (replicated).
   */
  readonly sessionIdleMillis: number
  readonly sessionNumbers: number
  readonly sessionAnswerBytes: number
}

/** `start` is included, `end` is not; null: no limit. */
export interface KeyRange {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
}

export interface WatchSink {
  /**
   * Called with whole revisions, in order, without gaps and repeats; all revisions up to `upTo` have then
   * been sent. The list may be empty, to report `upTo` only.
   */
  events(events: readonly EventResult[], upTo: number): void
  /** Called once, as the last call, with ERR_COMPACTED, ERR_CLOSED or the error that ended the watch. */
  over(error: LatchkeyError): void
}
export interface Watch {
  /**
   * Back-pressure: allows this many more events to be sent; at first none. A revision is never split, so the
   * last one may exceed the allowance.
   */
  more(events: number): void
  /** Ends the watch without a call of `over`. */
  close(): void
}

/**
 * Hashes of the state at `position`, which are equal on all members that applied the same entries. There is
 * one for each key space, so that a difference can be named.
 */
export interface StateHash {
  readonly position: LogPosition
  readonly hash: string
  readonly spaces: Readonly<Record<string, string>>
}

/** Questions about the sessions that need no entry of the log. */
export interface OpenSessions {
  readonly size: number
  /** How many latches and barriers there are, and how many parties of sessions wait at them. */
  readonly partyCounts: PartyCounts
  /** How many holds and waiters of sessions there are, by kind; undefined while there is no state. */
  readonly lockFigures: LockFigures | undefined
  openerOf(session: number): string | undefined
  /** All open sessions, in the order of their ids. */
  list(): SessionResult[]
  /** Why no client can open a session now; undefined: there is room. */
  whyNone(): string | undefined
  /**
   * The refusal that `openSession` would give this identity now; undefined: it would succeed. With a refusal
   * no entry has to be written to the log.
   */
  refusalFor(by: string): Uint8Array | undefined
}

export interface KvStore extends StateMachine {
  /**
   * Answers from the local state; the caller ensures that the state is recent enough (ReadIndex). `now` is
   * the cluster time that was confirmed for the read; the state's own time is used if it is later.
   * The results are those of protocol's results.ts. They are returned at once, but a page and a piece of a
   * backup are the promise of a PageResult or a BackupResult. `by` is the client: one client may use only a
   * part of the views and of the watches.
   * Throws a LatchkeyError: ERR_CORRUPT, ERR_BUSY (too many views), ERR_COMPACTED (the view is closed),
   * ERR_PROTOCOL.
   */
  read(read: Read, now?: number, by?: string): unknown
  /**
   * Announces a read that waits for its ReadIndex round: its row is read ahead meanwhile. This only saves
   * time; the answer is that of `read`.
   */
  expect(read: Read): void
  /**
   * Announces the body of a put (`isPlainPut`) that is on its way into the log: the row that it replaces is
   * read ahead. This too only saves time.
   */
  expectPut(body: Uint8Array): void
  /**
   * Announces the body of a deleteRange that is about to be written into the log here: its range is counted
   * and summed ahead, so that applying the command takes little time.
   * Resolves when that has succeeded or failed; undefined: the command is not of that kind. This too only
   * saves time.
   */
  survey(body: Uint8Array): Promise<void> | undefined
  /** Closes the views of a connection that has ended. */
  closeViews(views: Iterable<number>): void
  /** `from` is the first revision to send; 0: the one after the store's current revision. */
  watch(range: KeyRange, from: number, sink: WatchSink, by?: string, of?: WatchOf): Watch
  /**
   * Writes everything that is applied, then frees the disk space of removed rows. Reads and writes go on
   * meanwhile.
   */
  reclaim(): Promise<void>
  readonly position: LogPosition
  readonly revision: number
  stateHash(): StateHash
  /** Estimates the work of applying that command of so many bytes, in the units of rules/apply-turn.ts. */
  weigh(command: Command, bytes: number): number
  readonly openSessions: OpenSessions
  /** The open watches, of keys and of locks. */
  readonly watchCount: number
  /**
   * The stored state after the entry `index`, which the caller must close; undefined if later entries were
   * applied already.
   */
  frozen(index: number): Promise<StateDigest | undefined>
}
