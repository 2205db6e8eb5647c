// Rule: the port through which any state machine takes part. Its conformance suite ships with this package.

import type { Entry, LogPosition, Membership } from '../core/types.js'

/** What a frozen view or a durable batch stands for. */
export interface AppliedState {
  readonly position: LogPosition
  readonly membership: Membership
}

export interface SnapshotReader {
  readonly state: AppliedState
  /** The next piece, at most `max` bytes; undefined when all has been read. Pieces are the same bytes for the same reader. */
  read(max: number): Promise<Uint8Array | undefined>
  close(): void
}

export interface SnapshotWriter {
  write(chunk: Uint8Array): Promise<void>
  /** Complete, checked, durable, swapped in: the machine's state is now this. Anything wrong rejects and changes nothing. */
  install(): Promise<void>
  abort(): Promise<void>
}

export interface StateMachine {
  /** Opens what is on disk; the state of the last durable batch, or undefined when new. */
  open(): Promise<AppliedState | undefined>
  /**
   * Applies entries in order; one call at a time. Answers: for each entry of kind 'commands' an array with one answer a command, in
   * order; else undefined. `membership` is the committed one as of each entry. Sync where nothing must be waited for.
   * A throw stops the member: never skip, never retry.
   */
  apply(
    entries: readonly Entry[],
    membershipAt: (index: number) => Membership,
  ): readonly Applied[] | Promise<readonly Applied[]>
  /** The last position whose batch is synced: the log may be compacted up to here. */
  durable(): LogPosition
  /** Resolves when everything applied so far is durable. */
  flush(): Promise<void>
  /** The earliest cluster time at which something runs out; undefined when nothing has a deadline (CT4). */
  nextDeadline(): number | undefined
  snapshot(): Promise<SnapshotReader>
  receive(state: AppliedState): Promise<SnapshotWriter>
  close(): Promise<void>
}

export interface Applied {
  readonly index: number
  /** One answer a command. */
  readonly answers: readonly MachineAnswer[] | undefined
}

export interface MachineAnswer {
  /** Encoded. Asked for where somebody waits for it, so that it may be made then. */
  readonly bytes: Uint8Array
  /** It is a kept answer and proves no leadership (CT5). */
  readonly fromTable: boolean
}
