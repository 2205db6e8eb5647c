// Rule: the port for state machines. Its conformance suite is state-machine-suite.ts.

import type { Entry, LogPosition, Membership } from '../core/types.js'

/** The position and membership of a frozen view or of a durable batch. */
export interface AppliedState {
  readonly position: LogPosition
  readonly membership: Membership
}

export interface SnapshotReader {
  readonly state: AppliedState
  /**
   * The next piece, at most `max` bytes; undefined when all has been read. One reader gives the same bytes
   * each time.
   */
  read(max: number): Promise<Uint8Array | undefined>
  close(): void
}

export interface SnapshotWriter {
  write(chunk: Uint8Array): Promise<void>
  /**
   * Resolves when the snapshot is complete, checked, durable, and is the machine's state. Rejects on any
   * fault, and changes nothing then.
   */
  install(): Promise<void>
  abort(): Promise<void>
}

export interface StateMachine {
  /**
   * Opens the state on disk. Returns the position of the last durable batch, or undefined for a new machine.
   */
  open(): Promise<AppliedState | undefined>
  /**
   * Applies entries in order; one call at a time. Returns for each entry of kind 'commands' an array with one
   * answer for each command, in order; for other entries undefined. `membership` is the committed one at each
   * entry. The call is synchronous where nothing has to be waited for. An error stops the member: never skip
   * an entry and never retry.
   */
  apply(
    entries: readonly Entry[],
    membershipAt: (index: number) => Membership,
  ): readonly Applied[] | Promise<readonly Applied[]>
  /** The last position whose batch is synced: the log may be compacted up to this position. */
  durable(): LogPosition
  /** Resolves when everything applied so far is durable. */
  flush(): Promise<void>
  /**
   * The earliest cluster time at which a lease or another deadline ends; undefined when there is none (CT4).
   */
  nextDeadline(): number | undefined
  snapshot(): Promise<SnapshotReader>
  receive(state: AppliedState): Promise<SnapshotWriter>
  close(): Promise<void>
}

export interface Applied {
  readonly index: number
  /** One answer for each command. */
  readonly answers: readonly MachineAnswer[] | undefined
}

export interface MachineAnswer {
  /** The encoded answer. Read only when a caller waits for it, so it may be encoded then. */
  readonly bytes: Uint8Array
  /** True for a stored answer of an earlier attempt. Such an answer proves no leadership now (CT5). */
  readonly fromTable: boolean
}
