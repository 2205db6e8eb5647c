// Driver: loads what a member of the profile is made of: the packages as they are, or a copy of the compiled
// ones with changes.

import { checkInvariants, decodeMembership } from '@latchkey/raft/core'
import { Replica } from '@latchkey/raft/node'
import { messageItem } from '../../../../packages/raft/dist/net/message-encoder.js'
import { toMessage } from '../../../../packages/raft/dist/net/message-decoder.js'
import { type Change, changedCopy } from '../run/changed-packages.js'

export interface RaftModules {
  readonly Replica: typeof Replica
  readonly decodeMembership: typeof decodeMembership
  readonly messageItem: typeof messageItem
  readonly toMessage: typeof toMessage
  /** The core's own laws, after each call of it; undefined for a known bug, which the cluster has to show. */
  readonly checkInvariants: typeof checkInvariants | undefined
}

export const realModules: RaftModules = { Replica, decodeMembership, messageItem, toMessage, checkInvariants }

export interface LoadedModules {
  readonly modules: RaftModules
  /** Removes the files of the copy. */
  readonly remove: () => void
}

const FILES = ['node/index', 'core/index', 'net/message-encoder', 'net/message-decoder']

export async function changedModules(changes: readonly Change[]): Promise<LoadedModules> {
  const { load, remove } = changedCopy(['base', 'protocol', 'raft'], ['msgpackr', 'ws'], changes)
  try {
    const files = await Promise.all(FILES.map((file) => load(`raft/dist/${file}.js`)))
    const modules = Object.assign({}, ...files, { checkInvariants: undefined }) as RaftModules
    return { modules, remove }
  } catch (error) {
    remove()
    throw error
  }
}
