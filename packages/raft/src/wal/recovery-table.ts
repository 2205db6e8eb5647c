// Rule: what is done with the log on disk at a start, as a truth table: each combination of facts matches
// exactly one row.
//
// Law: a log that is shorter than the durable mark promises, or differs from it, is never opened. Records
// after the mark were not promised yet. So damage after the mark, in the last segment, is what a power loss
// leaves, and the log is cut before the damage.

import { assert } from '@latchkey/base'

/** 'foreign': the mark belongs to another Raft group. */
export const MARKS = ['absent', 'unreadable', 'newer', 'foreign', 'readable'] as const
/** Whether segments exist. Segments that an unfinished removal left behind do not count. */
export const LOGS = ['none', 'some'] as const
/** Why reading ended. 'whole': at the end of the last segment. 'missing': a segment does not exist. */
export const STOPS = ['whole', 'damaged', 'missing', 'foreign', 'newer'] as const
/** In which segment reading ended. */
export const PLACES = ['last', 'earlier'] as const
/**
 * 'none': the mark promises nothing yet. 'kept': the log reaches the mark and agrees with it. 'broken': the
 * log ends before the mark or differs from it.
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
  /** Create a new log, and remove the files of an unfinished log. */
  | 'create'
  | 'open'
  /** Open the log up to the place where reading ended, and remove the rest. */
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
export interface Row {
  readonly when: Condition
  readonly then: Verdict
}

const read = { mark: ['readable'], log: ['some'] } as const

export const ROWS: readonly Row[] = [
  { when: { mark: ['absent'], log: ['none'] }, then: 'create' },
  // The mark is durable before the first segment is created. So a log without a mark has lost its mark.
  { when: { mark: ['absent'], log: ['some'] }, then: 'mark-lost' },
  // Between two syncs only one slot is written, so no crash damages both slots (D3).
  { when: { mark: ['unreadable'] }, then: 'mark-damaged' },
  { when: { mark: ['newer'] }, then: 'newer' },
  { when: { mark: ['foreign'] }, then: 'wrong-log' },
  // The process crashed after it created the mark and before it created the first segment.
  { when: { mark: ['readable'], log: ['none'], promised: ['none'] }, then: 'create' },
  { when: { mark: ['readable'], log: ['none'], promised: ['kept', 'broken'] }, then: 'log-lost' },
  { when: { ...read, stop: ['newer'] }, then: 'newer' },
  { when: { ...read, stop: ['foreign'] }, then: 'foreign' },
  // A segment is created after the one before it is durable, so no crash leaves a gap.
  { when: { ...read, stop: ['missing'] }, then: 'gap' },
  { when: { ...read, stop: ['whole'], promised: ['none', 'kept'] }, then: 'open' },
  { when: { ...read, stop: ['whole'], promised: ['broken'] }, then: 'too-short' },
  // A whole segment is durable before the next one is created, so damage in it cannot come from a crash.
  { when: { ...read, stop: ['damaged'], place: ['earlier'] }, then: 'damaged' },
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['kept'] }, then: 'cut' },
  // The process crashed while it created the first segment.
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
