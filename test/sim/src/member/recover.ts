// Door: what a member's disk says at its start, or that it must not start. A torn tail is cut; damage before
// the mark is refused.

import type { Entry, HardState, LogPosition, Membership } from '@latchkey/raft/core'
import type { SimDisk } from '../world/disk.js'
import type { DiskHandle } from '../world/disk-handle.js'
import { JOURNAL, type JournalState, MARK } from './journal.js'
import { decodeMark, type JournalRecord, type Mark, MARK_SIZE, readRecords } from './journal-format.js'
import { DamagedDisk } from './port.js'

const START: LogPosition = { index: 0, term: 0, time: 0 }

export function recoverJournal(disk: DiskHandle, born: Membership): JournalState {
  const bytes = disk.read(JOURNAL)
  const mark = readMark(disk)
  const fresh: JournalState = {
    generation: 0,
    chain: 0,
    hard: { term: 0, vote: undefined },
    base: START,
    membership: born,
    entries: [],
  }
  if (bytes === undefined) return fresh
  const { records, end, chain } = readRecords(bytes)
  const state = replay(fresh, records, chain)
  const rewritten = mark !== undefined && mark.generation > state.generation
  if (mark !== undefined && (rewritten || (mark.generation === state.generation && end < mark.length))) {
    throw new DamagedDisk(`journal good up to ${end} of at least ${mark.length} bytes`)
  }
  if (end < bytes.length) disk.truncate(JOURNAL, end)
  return state
}

/** Where rot must be noticed: bytes that a durable mark covers. */
export function markedLength(disk: SimDisk): number {
  const mark = readMark(disk)
  const bytes = disk.read(JOURNAL)
  if (mark === undefined || bytes === undefined) return 0
  const { records } = readRecords(bytes)
  const first = records[0]
  const generation = first?.type === 'base' ? first.generation : 0
  return generation === mark.generation ? Math.min(mark.length, disk.durableLength(JOURNAL)) : 0
}

/** Of the two slots the one that is whole and furthest: a torn write spoils one slot only. */
function readMark(disk: DiskHandle | SimDisk): Mark | undefined {
  const bytes = disk.read(MARK)
  if (bytes === undefined) return undefined
  const [first, second] = [decodeMark(bytes, 0), decodeMark(bytes, MARK_SIZE)]
  if (first === undefined || second === undefined) return first ?? second
  const later = second.generation - first.generation || second.length - first.length
  return later > 0 ? second : first
}

function replay(fresh: JournalState, records: readonly JournalRecord[], chain: number): JournalState {
  let { generation, base, membership } = fresh
  let hard: HardState = fresh.hard
  let entries: Entry[] = []
  for (const record of records) {
    if (record.type === 'base') {
      generation = record.generation
      base = record.position
      membership = record.membership
      entries = []
    } else if (record.type === 'truncate')
      entries.length = Math.max(0, Math.min(entries.length, record.from - base.index - 1))
    else if (record.type === 'entry') entries.push(record.entry)
    else hard = record.hard
  }
  // A tail that lost its hard state still tells a term: an entry of term t was only ever taken in term t or
  // later.
  const lastTerm = entries[entries.length - 1]?.term ?? base.term
  if (lastTerm > hard.term) hard = { term: lastTerm, vote: undefined }
  return { generation, chain, hard, base, membership, entries }
}
