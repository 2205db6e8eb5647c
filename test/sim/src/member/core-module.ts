// Rule: the core as a value, so that a copy of it with a known bug can stand in its place.

import type { Membership, Raft, RaftBoot, RaftOptions } from '@latchkey/raft/core'

export interface CoreModule {
  readonly Raft: new (options: RaftOptions, boot: RaftBoot, now: number) => Raft
  readonly decodeMembership: (data: Uint8Array) => Membership | undefined
  /** The core's own laws, after every step. */
  readonly check?: (raft: Raft) => void
}
