// Driver: loads the code of the members: the compiled packages, or a copy with changes.

import { checkInvariants } from '@latchkey/raft/core'
import { Replica } from '@latchkey/raft/node'
import { toMessage } from '../../../../packages/raft/dist/net/message-decoder.js'
import { messageItem } from '../../../../packages/raft/dist/net/message-encoder.js'
import { type Change, type LoadedModules, loadCopy } from '../run/changed-packages.js'

export interface RaftModules {
  readonly Replica: typeof Replica
  readonly messageItem: typeof messageItem
  readonly toMessage: typeof toMessage
  /**
   * Checks the core's invariants after each call. Undefined for a known bug, because the laws must find the
   * bug.
   */
  readonly checkInvariants?: typeof checkInvariants
}

export const realModules: RaftModules = { Replica, messageItem, toMessage, checkInvariants }

const COPY = {
  packages: ['base', 'protocol', 'raft'],
  others: ['msgpackr', 'ws'],
  files: ['raft/node/index', 'raft/net/message-encoder', 'raft/net/message-decoder'],
}

export const loadRaft = async (changes?: readonly Change[]): Promise<LoadedModules<RaftModules>> =>
  changes === undefined ? { modules: realModules, remove: () => {} } : loadCopy(COPY, changes)
