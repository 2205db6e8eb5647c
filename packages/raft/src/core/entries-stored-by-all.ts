// Rule: removes entries from the log in memory that no member needs from this member any more. The leader finds
// out which entries all members have on their disks, removes them, and tells the other members, which remove
// them too. The log on disk keeps these entries until the state machine has their effects durably (S15).
//
// Without this rule, each member would keep the entries of the last seconds, in case another member lags: up to
// 16 MiB. V8 would move these bytes to its heap for old objects, and would collect this heap several times per
// second.
//
// Laws
//   - an entry is removed only if the disks of all members have it. So a member that lags, or that was down,
//     still gets entries and no snapshot (L23).
//   - a message counts only if its index reaches the membership in force. What was true of the members before
//     does not count for a member that was added later (L23).
//   - while a snapshot is sent or read, this leader removes nothing, because the receiver needs the entries after
//     the snapshot next (S9).

import { follow } from './follower.js'
import { type Leading, type State, removeEntries } from './state.js'
import type { MessageOf } from './types.js'

/** Called at the end of each call of a leader. */
export function tellStored(state: State, leading: Leading): void {
  if (state.log.bytes <= state.options.keptBytes) return
  let index = Math.min(state.commit, state.disk.durable)
  for (const { match } of leading.peers) index = Math.min(index, match)
  if (index <= state.storedByAll || index < state.configs.index || sendsSnapshot(leading)) return
  state.storedByAll = index
  removeStored(state)
  const { id: from, term, options } = state
  for (const { id: to } of leading.peers) {
    state.send({ type: 'storedByAll', group: options.group, from, to, term, index })
  }
}

export function onStoredByAll(state: State, m: MessageOf<'storedByAll'>): void {
  follow(state, m.from)
  state.storedByAll = Math.max(state.storedByAll, Math.min(m.index, state.log.lastIndex))
  removeStored(state)
}

const sendsSnapshot = ({ peers }: Leading): boolean => peers.some(({ snapshot }) => snapshot !== undefined)

/** Called when `storedByAll` or `applied` has grown. */
export function removeStored(state: State): void {
  const { log, configs, applied, storedByAll, leading, options } = state
  if (log.bytes <= options.keptBytes || storedByAll < configs.index) return
  if (leading !== undefined && sendsSnapshot(leading)) return
  removeEntries(state, Math.min(applied, storedByAll))
}
