// Rule: answers reads from the state of this member. The caller has checked by ReadIndex that the state is
// recent enough.

import { binary, compareBytes } from '@latchkey/base'
import { type HoldRow, inForce, lockInfo, lockOwner, ticketOf } from '@latchkey/lock'
import {
  CAPS,
  KIND,
  kindOfLockKey,
  type EntryReadResult,
  LatchkeyError,
  type LockStateResult,
  READ,
  type Read,
  checkRead,
  tooManyKeys,
  type ReadOf,
} from '@latchkey/protocol'
import { StateLockView } from './rules/tables-for-lock-rules.js'
import { partyOf } from './rules/end-latch-and-barrier-waits.js'
import { nextStart } from './rules/sequences.js'
import { entryOf, valueOf } from './state/key-value-row-format.js'
import type { State } from './state/store-state.js'

type PointRead = Exclude<Read, ReadOf<'page' | 'closeView' | 'backup' | 'lockHistory'>>

export function assertRead(read: unknown): asserts read is Read {
  const reason = checkRead(read)
  if (reason !== null) throw new LatchkeyError('ERR_PROTOCOL', `That is not a read: ${reason}.`)
}

/**
 * Answers one read. `now` is the cluster time that ReadIndex confirmed. The bytes in the result may be bytes of
 * the state, so the caller must not change them. A member encodes the result for its client, and the client
 * gives its user a copy.
 */
export function pointRead(state: State, read: PointRead, now: number): unknown {
  switch (read[0]) {
    case READ.get:
      return valueAt(state, read[1])
    case READ.getEntry:
      return entryAt(state, read[1], Math.max(now, state.meta.position.time))
    case READ.multiGet:
      return valuesAt(state, read[1])
    case READ.contains:
      return state.data.get(binary(read[1])) !== undefined
    case READ.sequence:
      return nextStart(state.sequences, read[1])
    case READ.revision:
      return state.meta.revision
    case READ.lockState:
      return lockStateOf(state, read[1], read[2])
    case READ.parties:
      return state.parties.listed(read[1], read[2], read[3])
    case READ.party:
      return partyOf(state.parties, read[1], read[2], read[3])
    default:
      return lockRead(state, read, now)
  }
}

function lockRead(state: State, read: ReadOf<'lockQuery' | 'lockOwner' | 'ticket'>, now: number): unknown {
  const view = new StateLockView(state, Math.max(now, state.meta.position.time))
  switch (read[0]) {
    case READ.lockOwner:
      return lockOwner(view, read[1])
    case READ.ticket:
      return ticketOf(view, read[1], read[2])
    case READ.lockQuery: {
      const [, at, queue, isKey, page] = read
      if (at !== null && isKey) return listLocks(view, state.holds.of(at), queue)
      const kind = at === null ? KIND.lock : kindOfLockKey(at)
      const isListed = (row: HoldRow) => kindOfLockKey(row.key) === kind && inForce(row, view.now)
      const prefix = at === null ? '' : binary(at)
      const rows =
        page === undefined
          ? state.holds.withPrefix(prefix).filter(isListed)
          : state.holds.page(prefix, page, isListed)
      return listLocks(view, rows, queue)
    }
  }
}

function listLocks(view: StateLockView, rows: readonly HoldRow[], queue: boolean): unknown {
  const infos: unknown[] = []
  let lines = 0
  for (const row of rows) {
    const info = lockInfo(view, row, queue)
    if (info === undefined) continue
    lines += 1 + (info[8]?.length ?? 0)
    if (lines > CAPS.queryLines) throw tooManyLines()
    infos.push(info)
  }
  return infos
}

const tooManyLines = () =>
  new LatchkeyError(
    'ERR_TOO_LARGE',
    `There are more than ${CAPS.queryLines} holds and waiters, too many for one answer. Ask with a longer prefix, with a smaller limit, or without the queues.`,
  )

/** Throws ERR_TOO_LARGE if the values have more bytes than one answer may have. */
function valuesAt(state: State, keys: readonly Uint8Array[]): (Uint8Array | null)[] {
  const reason = tooManyKeys(keys.length)
  if (reason !== null) throw new LatchkeyError('ERR_TOO_LARGE', reason)
  let bytes = 0
  return keys.map((key) => {
    const value = valueAt(state, key)
    bytes += ITEM_BYTES + (value?.length ?? 0)
    if (bytes > CAPS.readBytes) throw tooMuch()
    return value
  })
}

/** In bytes, how much a value takes in an answer besides its own bytes. */
const ITEM_BYTES = 5

const tooMuch = () =>
  new LatchkeyError(
    'ERR_TOO_LARGE',
    `What was found has more than ${CAPS.readBytes} bytes, too many for one answer. Ask for fewer keys at once.`,
  )

function valueAt(state: State, key: Uint8Array): Uint8Array | null {
  const row = state.data.get(binary(key))
  return row === undefined ? null : valueOf(row)
}

function entryAt(state: State, key: Uint8Array, now: number): EntryReadResult | null {
  const row = state.data.get(binary(key))
  if (row === undefined) return null
  return [state.meta.revision, entryOf(row, now)]
}

/**
 * Returns the holds at the beginning of a watch of locks. The client updates this list with the later events.
 */
function lockStateOf(state: State, start: Uint8Array | null, end: Uint8Array | null): LockStateResult {
  const { position, revision } = state.meta
  const prefix = start === null ? '' : commonPrefix(binary(start), end === null ? undefined : binary(end))
  const view = new StateLockView(state, position.time)
  const isIn = (key: Uint8Array) =>
    (start === null || compareBytes(key, start) >= 0) && (end === null || compareBytes(key, end) < 0)
  const rows = state.holds.withPrefix(prefix).filter((row) => isIn(row.key) && inForce(row, view.now))
  return [position.index, revision, rows.map(({ key, id, context, token }) => [key, id, context, token])]
}

/** Returns a prefix that all keys of the range have. A longer common prefix may exist. */
function commonPrefix(start: string, end: string | undefined): string {
  if (end === undefined) return ''
  let length = 0
  while (length < start.length && length < end.length && start[length] === end[length]) length++
  return start.slice(0, length)
}
