// Rule: what a member does with its log on disk when it starts, as a table. Each combination of facts matches
// exactly one row.
//
// Law: the durable mark says up to which offset the log was synced. A log that is shorter than that offset,
// or differs from the mark's checksum, is never opened. A power loss can damage records after that offset in
// the last segment. So recovery keeps the records before such damage, and cuts off the rest.

import { assert } from '@latchkey/base'

/**
 * What was found in the file of the durable mark. 'absent': there is no file. 'unreadable': both slots are
 * damaged. 'newer': a later version wrote the mark. 'foreign': the mark belongs to another Raft group.
 */
export const MARKS = ['absent', 'unreadable', 'newer', 'foreign', 'readable'] as const
/** Whether the folder has segments, apart from leftovers of an interrupted removal. */
export const LOGS = ['none', 'some'] as const
/**
 * Why the reading of segments ended. 'whole': all segments are valid. 'damaged': a segment has invalid bytes.
 * 'missing': a segment does not exist. 'foreign': a segment belongs to another member or group. 'newer': a
 * later version wrote the segment.
 */
export const STOPS = ['whole', 'damaged', 'missing', 'foreign', 'newer'] as const
export const PLACES = ['last', 'earlier'] as const
/**
 * Whether the log has all bytes that the mark calls durable. 'none': by the mark, no bytes are durable yet.
 * 'kept': the log reaches the mark's offset with the right checksum. 'broken': the log ends before the mark's
 * offset, or the checksum differs.
 */
export const PROMISES = ['none', 'kept', 'broken'] as const

export type Stop = (typeof STOPS)[number]
export type Promised = (typeof PROMISES)[number]

export interface Facts {
  readonly mark: (typeof MARKS)[number]
  readonly log: (typeof LOGS)[number]
  readonly stop: Stop
  readonly place: (typeof PLACES)[number]
  readonly promised: Promised
}

export type Verdict =
  /** Create a new log. Segments that an unfinished first start has left are removed. */
  | 'create'
  | 'open'
  /** Open the log up to the last valid record, and remove the rest. */
  | 'cut'
  | 'newer'
  | 'wrong-log'
  | 'foreign'
  | 'damaged'
  | 'too-short'
  | 'gap'
  | 'mark-lost'
  | 'mark-damaged'
  | 'log-lost'

type Condition = { readonly [K in keyof Facts]?: readonly Facts[K][] }
interface Row {
  readonly when: Condition
  readonly then: Verdict
}

const read = { mark: ['readable'], log: ['some'] } as const

export const ROWS: readonly Row[] = [
  { when: { mark: ['absent'], log: ['none'] }, then: 'create' },
  // A new log first gets its mark and then its first segment. So a log with segments and without a mark has
  // lost its mark.
  { when: { mark: ['absent'], log: ['some'] }, then: 'mark-lost' },
  // Only one of the two slots is written between two syncs, so a crash damages at most one slot (D3). Two
  // damaged slots prove a fault of the disk.
  { when: { mark: ['unreadable'] }, then: 'mark-damaged' },
  { when: { mark: ['newer'] }, then: 'newer' },
  { when: { mark: ['foreign'] }, then: 'wrong-log' },
  // The first start crashed after the mark was created and before the first segment was created.
  { when: { mark: ['readable'], log: ['none'], promised: ['none'] }, then: 'create' },
  { when: { mark: ['readable'], log: ['none'], promised: ['kept', 'broken'] }, then: 'log-lost' },
  { when: { ...read, stop: ['newer'] }, then: 'newer' },
  { when: { ...read, stop: ['foreign'] }, then: 'foreign' },
  // A segment is created only when the segment before it is durable. So a crash leaves no gap.
  { when: { ...read, stop: ['missing'] }, then: 'gap' },
  { when: { ...read, stop: ['whole'], promised: ['none', 'kept'] }, then: 'open' },
  { when: { ...read, stop: ['whole'], promised: ['broken'] }, then: 'too-short' },
  // A segment is durable before the next segment is created. So a crash cannot explain damage in an earlier
  // segment.
  { when: { ...read, stop: ['damaged'], place: ['earlier'] }, then: 'damaged' },
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['kept'] }, then: 'cut' },
  // The first start crashed while it created the first segment.
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['none'] }, then: 'create' },
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['broken'] }, then: 'damaged' },
]

export function matches({ when }: Row, facts: Facts): boolean {
  return (Object.keys(when) as (keyof Facts)[]).every((fact) =>
    (when[fact] as readonly string[]).includes(facts[fact]),
  )
}

export function decide(facts: Facts): Verdict {
  const [row, ...others] = ROWS.filter((one) => matches(one, facts))
  assert(row && others.length === 0, `not one row of the recovery table matches ${JSON.stringify(facts)}`)
  return row.then
}
