// Rule: reads of the local state. Whether it is recent enough is the caller's to see to (ReadIndex).

import { binary, copyBytes } from '@latchkey/base'
import { lockInfo, lockOwner, ticketOf } from '@latchkey/lock'
import { LatchkeyError, READ, type Read, checkRead } from '@latchkey/protocol'
import { StateLockView } from './rules/lock-tx.js'
import { nextStart } from './rules/sequences.js'
import { createdOf, modifiedOf, valueOf, versionOf } from './state/data-row.js'
import type { State } from './state/state.js'

/** Reads that need no frozen view. */
export type PointRead = Exclude<
  Read,
  readonly [typeof READ.page | typeof READ.closeView | typeof READ.backup, ...unknown[]]
>

export function assertRead(read: unknown): asserts read is Read {
  const reason = checkRead(read)
  if (reason !== null) throw new LatchkeyError('ERR_PROTOCOL', `That is not a read: ${reason}.`)
}

/** `now`: the cluster time the read may assume. Bytes in the result are the caller's. */
export function pointRead(state: State, read: PointRead, now: number): unknown {
  switch (read[0]) {
    case READ.get:
      return valueAt(state, read[1])
    case READ.getEntry:
      return entryAt(state, read[1])
    case READ.multiGet:
      return read[1].map((key) => valueAt(state, key))
    case READ.contains:
      return state.data.get(binary(read[1])) !== undefined
    case READ.sequence:
      return nextStart(state.sequences, read[1])
    case READ.revision:
      return state.meta.revision
    default:
      return lockRead(state, read, now)
  }
}

type LockRead = Extract<
  Read,
  readonly [typeof READ.lockQuery | typeof READ.lockOwner | typeof READ.ticket, ...unknown[]]
>

function lockRead(state: State, read: LockRead, now: number): unknown {
  const view = new StateLockView(state, Math.max(now, state.meta.position.time))
  switch (read[0]) {
    case READ.lockOwner:
      return lockOwner(view, read[1])
    case READ.ticket:
      return ticketOf(view, read[1], read[2])
    case READ.lockQuery: {
      const rows = state.holds.withPrefix(read[1] === null ? '' : binary(read[1]))
      return rows.map((row) => lockInfo(view, row)).filter((info) => info !== undefined)
    }
  }
}

function valueAt(state: State, key: Uint8Array): Uint8Array | null {
  const row = state.data.get(binary(key))
  return row === undefined ? null : copyBytes(valueOf(row))
}

function entryAt(state: State, key: Uint8Array): unknown {
  const row = state.data.get(binary(key))
  if (row === undefined) return null
  return [createdOf(row), modifiedOf(row), versionOf(row), copyBytes(valueOf(row))]
}
