// Rule: the interface of a state machine. state-machine-suite.ts tests its laws.

import type { Entry, LogPosition, Membership } from '../core/types.js'

/** The position up to which a state contains the log, and the membership at that position. */
export interface AppliedState {
  readonly position: LogPosition
  readonly membership: Membership
}

export interface SnapshotReader {
  readonly state: AppliedState
  /** Returns the next piece, at most `max` bytes long, or undefined after the last piece. */
  read(max: number): Promise<Uint8Array | undefined>
  close(): void
}

export interface SnapshotWriter {
  write(chunk: Uint8Array): Promise<void>
  /**
   * Resolves when the new state is complete, checked and durable. If the promise rejects, the old state is
   * unchanged.
   */
  install(): Promise<void>
  abort(): Promise<void>
}

export interface StateMachine {
  /**
   * Opens the state. Returns the position up to which the state durably contains the log. Undefined if the
   * state is new.
   */
  open(): Promise<AppliedState | undefined>
  /**
   * Applies entries in order. The node makes one call at a time. The result has one element for each entry.
   * Only an entry of kind 'commands' has answers: one for each command, in order.
   *
   * The method returns a promise only if it has to wait. An error stops the member, because skipping an entry
   * would make the states of the members differ.
   */
  apply(
    entries: readonly Entry[],
    membershipAt: (index: number) => Membership,
  ): readonly Applied[] | Promise<readonly Applied[]>
  /** The position up to which the state is durable. The log may be compacted up to this position. */
  durable(): LogPosition
  flush(): Promise<void>
  /**
   * Returns the earliest deadline in the state, for example the end of a lease, in cluster time (CT4).
   * Undefined if the state has no deadline.
   */
  nextDeadline(): number | undefined
  snapshot(): Promise<SnapshotReader>
  receive(state: AppliedState): Promise<SnapshotWriter>
  close(): Promise<void>
}

export interface Applied {
  readonly index: number
  /** One answer for each command. Undefined for an entry without commands. */
  readonly answers: readonly MachineAnswer[] | undefined
}

export interface MachineAnswer {
  /**
   * This field may be a getter that encodes the answer at the first read. The node reads the field only if a
   * caller waits for the answer.
   */
  readonly bytes: Uint8Array
  /**
   * True if this is the stored answer of an earlier attempt of the same command. A stored answer does not
   * prove that this member leads now (CT5).
   */
  readonly fromTable: boolean
}
