// Rule: what a member gets from its key-value state machine, besides the StateMachine that consensus drives.

import type { Clock, Logger } from '@latchkey/base'
import type {
  BudgetLimits,
  Command,
  EventResult,
  LatchkeyError,
  OwnerResult,
  Read,
  SessionResult,
} from '@latchkey/protocol'
import type { LogPosition } from '@latchkey/raft/core'
import type { StateMachine } from '@latchkey/raft/node'
import type { StateDigest } from './state-digest.js'
import type { RowHome } from './storage/row-store.js'

export interface KvOptions {
  /** Where the rows are: `classicHome(dir)`, `memoryLevelHome()` or, in a simulation, `new SimulatedRowHome(...)`. */
  readonly home: RowHome
  readonly clock: Clock
  readonly logger?: Logger
  /** A grant was made to a waiter, for the member whose link attached that session to push. A hint: never awaited. */
  readonly granted?: (session: number, key: Uint8Array, owner: OwnerResult) => void
  /** The disk failed or a row is damaged: the member must stop. Called once; `apply` and `flush` reject from then on. */
  readonly failed?: (error: LatchkeyError) => void
  /**
   * Told of the state behind the first entry of each half minute of cluster time: the same entry on every member, however busy
   * they are. What it returns is waited for before the next entry is applied, so that `frozen` has that very state.
   */
  readonly stood?: (hash: StateHash) => Promise<unknown> | undefined
  readonly limits?: Partial<KvLimits>
  /** Runs it in another turn of the event loop, behind all that is due by then (setImmediate). */
  readonly nextTurn: (run: () => void) => void
  /** Runs it behind what leaves in this turn of the event loop. Given, what is to be read or put over is looked up ahead. */
  readonly later?: (run: () => void) => void
}

/** Caps, and what happens there. Tests make them small; the ones marked * decide what is applied, so all members must agree. */
export interface KvLimits {
  /** The overlay is written when its first change is that old, ms. */
  readonly flushMillis: number
  /** ... or when it holds that many bytes, events not counted, */
  readonly flushBytes: number
  /** ... or that many of events. */
  readonly flushEventBytes: number
  /** Apply waits for the disk beyond. */
  readonly overlayBytes: number
  /** Frozen views open at once, and of those that one asker opened: ERR_BUSY beyond. */
  readonly views: number
  readonly viewsOfOne: number
  /** A view nobody asked for that long is closed. */
  readonly viewIdleMillis: number
  /** Watches at once, and of those that one asker opened: ERR_BUSY beyond. */
  readonly watches: number
  readonly watchesOfOne: number
  /** * Events kept: the oldest revisions go beyond. */
  readonly events: number
  readonly eventBytes: number
  /** * Of one command: ERR_TOO_LARGE beyond. A deleteRange that stands alone has none. */
  readonly budget: BudgetLimits
  /** * ERR_BUSY beyond. */
  readonly sessions: number
  /** * Of those that one identity opened: ERR_BUSY beyond. */
  readonly sessionsOfOne: number
  /** * A session that holds nothing gives way to a new one when it said nothing for so long, ms of cluster time. */
  readonly sessionIdleMillis: number
  readonly sessionNumbers: number
  readonly sessionAnswerBytes: number
}

/** start inclusive, end exclusive; null: unbounded. */
export interface KeyRange {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
}

export interface WatchSink {
  /** Whole revisions, in order, no gap, no repeat; `upTo`: all revisions up to here have been told. May be empty, to say only that. */
  events(events: readonly EventResult[], upTo: number): void
  /** Once, and nothing after it: ERR_COMPACTED, ERR_CLOSED, or what went wrong. */
  over(error: LatchkeyError): void
}
export interface Watch {
  /** Back-pressure: that many more events may come. It begins with none. A revision is never cut, so the last may exceed it. */
  more(events: number): void
  /** Quietly. */
  close(): void
}

/** Hashes of the state at `position`; equal on all members that applied up to there. By key space, so that a difference has a name. */
export interface StateHash {
  readonly position: LogPosition
  readonly hash: string
  readonly spaces: Readonly<Record<string, string>>
}

/** What is asked about the sessions from outside of the log. */
export interface OpenSessions {
  readonly size: number
  openerOf(session: number): string | undefined
  /** All that are open, by id. */
  list(): SessionResult[]
  /** Why nobody can open one just now, for want of room. */
  whyNone(): string | undefined
  /** The answer that `openSession` would come to for that identity, where it is a refusal: it need not be written into the log. */
  refusalFor(by: string): Uint8Array | undefined
}

export interface KvStore extends StateMachine {
  /**
   * Answers from the local state; whether it is recent enough (ReadIndex) is the caller's to see to. `now`: the cluster time the
   * read may assume, where one was confirmed; the state's own time counts where it is later. Results as protocol's operations.ts says,
   * at once, but for a page and a piece of a backup: the promise of a PageResult or a BackupResult.
   * `by`: who asks; one asker has a part of the views and of the watches.
   * Throws a LatchkeyError: ERR_CORRUPT, ERR_BUSY (too many views), ERR_COMPACTED (the view is gone), ERR_PROTOCOL.
   */
  read(read: Read, now?: number, by?: string): unknown
  /** That will be read as soon as its round is back: its row is looked up meanwhile. A hint: the answer is that of `read`. */
  expect(read: Read): void
  /** The body of a put (`isPlainPut`) that is on its way into the log: what it is put over is looked up meanwhile. A hint too. */
  expectPut(body: Uint8Array): void
  /**
   * The body of a deleteRange that stands alone and is about to be written into the log here: what it will meet is added up before, so
   * that applying it is short. Resolves when that is done, well or not; undefined: it is no such command. A hint.
   */
  survey(body: Uint8Array): Promise<void> | undefined
  /** Views of a connection that is gone. */
  closeViews(views: Iterable<number>): void
  /** from: inclusive; 0: after the store's revision as it is now. */
  watch(range: KeyRange, from: number, sink: WatchSink, by?: string): Watch
  /** What is applied is written, then the disk space of what was removed is given back. Reads and writes go on meanwhile. */
  reclaim(): Promise<void>
  readonly position: LogPosition
  readonly revision: number
  stateHash(): StateHash
  /** How much work that command will be, of so many bytes, in the units of rules/turn.ts: a guess. */
  weigh(command: Command, bytes: number): number
  readonly openSessions: OpenSessions
  /** What is stored behind the entry `index`, to be closed by the caller; undefined when the state is elsewhere by then. */
  frozen(index: number): Promise<StateDigest | undefined>
}
