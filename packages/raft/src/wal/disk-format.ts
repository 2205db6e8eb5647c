// Rule: the numbers and names of the format on disk. docs/disk.md shows the format byte by byte. A change of
// the format needs a change of that page and a new VERSION.

import { checksum, utf8 } from '@latchkey/base'
import type { EntryKind, GroupId, MemberId } from '../core/types.js'

export const VERSION = 1

export const LOG_MAGIC = 'LATCHLOG'
export const MARK_MAGIC = 'LATCHMRK'
export const PREAMBLE_BYTES = 48
export const RECORD_HEADER_BYTES = 32
export const ENTRY_HEADER_BYTES = 24

/**
 * The size of a slot. Each slot is on its own sector and its own page of the disk, so that a torn write of
 * one slot does not damage the other.
 */
export const MARK_SLOT_BYTES = 64
export const MARK_SLOT_AT = [0, 4096] as const
export const MARK_FILE_BYTES = 8192

/** The kind of a segment's first record. This record has the state of the log at the start of the segment. */
export const HEAD = 1
/**
 * The kind of all other records. A record has the changes of one turn, which are on disk together
 * or not at all.
 */
export const TURN = 2
export type RecordKind = typeof HEAD | typeof TURN

/** Bits that say which parts a record has. The parts follow the record's header in this order. */
export const PART = { void: 1, start: 2, entries: 4, hardState: 8, identity: 16 } as const
export const ALL_PARTS = 31
export const NO_VOTE = 0xffffffff

/** Kind 0 does not exist, so that zeros are never taken for an entry. */
export const ENTRY_KINDS: readonly (EntryKind | undefined)[] = [undefined, 'empty', 'commands', 'members']
export const entryKindCode = (kind: EntryKind): number => (kind === 'empty' ? 1 : kind === 'commands' ? 2 : 3)

export const MARK_NAME = 'mark'
export const MARK_DRAFT_NAME = 'mark.new'
const SEGMENT_NAME = /^log-(\d{10,16})\.wal$/

export const segmentName = (number: number): string => `log-${String(number).padStart(10, '0')}.wal`

/** Returns the number in a segment's file name, or undefined for the name of another file. */
export function segmentNumber(name: string): number | undefined {
  const digits = SEGMENT_NAME.exec(name)?.[1]
  if (digits === undefined) return undefined
  const number = Number(digits)
  return segmentName(number) === name ? number : undefined
}

/**
 * Returns a number for the member and the incarnation that write a file. Two members, or two incarnations of
 * one member, almost certainly have different numbers.
 */
export const ownerNumber = (memberId: MemberId, incarnation: string): number =>
  checksum(utf8(`${memberId}\0${incarnation}`))

export interface Origin {
  readonly group: GroupId
  readonly owner: number
}
