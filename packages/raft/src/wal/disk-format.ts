// Rule: the constants of the log's format on disk: sizes, magic texts, and file names. docs/disk.md shows the
// format byte by byte. If you change the format, change docs/disk.md and VERSION too.

import { checksum, utf8 } from '@latchkey/base'
import type { EntryKind, GroupId, MemberId } from '../core/types.js'

export const VERSION = 1

export const LOG_MAGIC = 'LATCHLOG'
export const MARK_MAGIC = 'LATCHMRK'
export const PREAMBLE_BYTES = 48
export const RECORD_HEADER_BYTES = 32
export const ENTRY_HEADER_BYTES = 24

/**
 * In bytes, the size of one slot of the durable mark. The durable mark is a small file that says up to which
 * offset the log is durable. The two slots of the file are on different disk pages. So a torn write of one
 * slot does not damage the other slot.
 */
export const MARK_SLOT_BYTES = 64
export const MARK_SLOT_AT = [0, 4096] as const
export const MARK_FILE_BYTES = 8192

/**
 * A segment begins with one HEAD record. The HEAD record has a summary of the log before this segment (term,
 * vote, last entry's position, members). So earlier segments can be deleted.
 */
export const HEAD = 1
/**
 * All other records are TURN records. A TURN record has all changes that the member made in one turn of the
 * event loop. After a crash the disk has the whole record or nothing of it.
 */
export const TURN = 2
export type RecordKind = typeof HEAD | typeof TURN

/**
 * A record's header has a bit for each part that the record contains. The parts follow the header in the
 * order of these bits.
 */
export const PART = { truncate: 1, start: 2, entries: 4, hardState: 8, identity: 16 } as const
export const ALL_PARTS = 31
export const NO_VOTE = 0xffffffff

/** Index 0 is unused, so that a run of zeros on the disk never decodes as an entry. */
export const ENTRY_KINDS: readonly (EntryKind | undefined)[] = [undefined, 'empty', 'commands', 'members']
export const entryKindCode = (kind: EntryKind): number => (kind === 'empty' ? 1 : kind === 'commands' ? 2 : 3)

export const MARK_NAME = 'mark'
export const MARK_DRAFT_NAME = 'mark.new'
const SEGMENT_NAME = /^log-(\d{10,16})\.wal$/

export const segmentName = (number: number): string => `log-${String(number).padStart(10, '0')}.wal`

export function segmentNumber(name: string): number | undefined {
  const digits = SEGMENT_NAME.exec(name)?.[1]
  if (digits === undefined) return undefined
  const number = Number(digits)
  return segmentName(number) === name ? number : undefined
}

/**
 * A checksum of the member's id and its incarnation (the random id of the data directory). Each file of the
 * log contains this number. So recovery notices a file of another member or directory.
 */
export const ownerNumber = (memberId: MemberId, incarnation: string): number =>
  checksum(utf8(`${memberId}\0${incarnation}`))

export interface LogOwner {
  readonly group: GroupId
  readonly owner: number
}
