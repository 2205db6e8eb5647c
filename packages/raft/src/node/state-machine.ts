// Rule: the port for state machines. state-machine-suite.ts has the tests that every state machine must pass.

import type { Entry, LogPosition, Membership } from '../core/types.js'

/** The position and the membership of a view, or of a durable batch. */
export interface AppliedState {
  readonly position: LogPosition
  readonly membership: Membership
}

export interface SnapshotReader {
  readonly state: AppliedState
  /**
   * Returns the next piece, at most `max` bytes, or undefined after the last one. One reader gives the same
   * bytes each time.
   */
  read(max: number): Promise<Uint8Array | undefined>
  close(): void
}

export interface SnapshotWriter {
  write(chunk: Uint8Array): Promise<void>
  /**
   * Replaces the state machine's state with the snapshot. Resolves when the snapshot is complete, checked,
   * durable and in use. If the promise rejects, the state has not changed.
   */
  install(): Promise<void>
  abort(): Promise<void>
}

export interface StateMachine {
  /**
   * Opens the state on disk. Returns the position of the last durable batch, or undefined for a new
   * state machine.
   */
  open(): Promise<AppliedState | undefined>
  /**
   * Applies entries in order. The node makes one call at a time. The result has one element for each entry.
   * An entry of kind 'commands' has an array with one answer for each command, in order. Any other entry has
   * no answers. `membershipAt` returns the committed membership at an entry. The call returns its results at
   * once if it has to wait for nothing, and a promise otherwise. An error stops the member: no entry is
   * skipped, and no entry is tried again.
   */
  apply(
    entries: readonly Entry[],
    membershipAt: (index: number) => Membership,
  ): readonly Applied[] | Promise<readonly Applied[]>
  /** The last position whose batch is synced. The log may be compacted up to this position. */
  durable(): LogPosition
  /** Resolves when everything that is applied now is durable. */
  flush(): Promise<void>
  /**
   * The earliest cluster time at which a lease or another deadline ends. Undefined if no deadline is set
   * (CT4).
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
  /** The encoded answer. It is read only if a caller waits for it, so it may be encoded at that moment. */
  readonly bytes: Uint8Array
  /**
   * True for a stored answer of an earlier attempt. Such an answer does not prove that this member
   * leads now (CT5).
   */
  readonly fromTable: boolean
}
