// Rule: what a log on disk is taken for at boot. A truth table: each combination of facts matches exactly one row.
//
// Law: a log that is shorter or other than the durable mark says is never opened. What is behind the mark was never
// promised to anybody, so a last segment may be damaged there: that is what a power loss leaves, and it is cut.

import { assert } from '@latchkey/base'

/** 'foreign': of another group than the one that opens it. */
export const MARKS = ['absent', 'unreadable', 'newer', 'foreign', 'readable'] as const
/** Whether there are segments, leftovers of removed ones aside. */
export const LOGS = ['none', 'some'] as const
/** Why reading ended. 'whole': at the end of the last segment. 'missing': a segment is not there. */
export const STOPS = ['whole', 'damaged', 'missing', 'foreign', 'newer'] as const
/** In which segment reading ended. */
export const PLACES = ['last', 'earlier'] as const
/** 'none': the mark promises nothing yet. 'kept': the log reaches the mark and agrees with it. 'broken': it does not. */
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
  /** Make a new log; what is there of an unfinished one goes. */
  | 'create'
  | 'open'
  /** Open what is before the place where reading ended; the rest goes. */
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
  // The mark is made, durably, before the first segment: a log without it has lost it.
  { when: { mark: ['absent'], log: ['some'] }, then: 'mark-lost' },
  // Never two slots are being written between two syncs, so no crash leaves two bad ones (D3).
  { when: { mark: ['unreadable'] }, then: 'mark-damaged' },
  { when: { mark: ['newer'] }, then: 'newer' },
  { when: { mark: ['foreign'] }, then: 'wrong-log' },
  // A crash between the mark and the first segment.
  { when: { mark: ['readable'], log: ['none'], promised: ['none'] }, then: 'create' },
  { when: { mark: ['readable'], log: ['none'], promised: ['kept', 'broken'] }, then: 'log-lost' },
  { when: { ...read, stop: ['newer'] }, then: 'newer' },
  { when: { ...read, stop: ['foreign'] }, then: 'foreign' },
  // A segment is made after the one before it is durable: no crash makes a gap.
  { when: { ...read, stop: ['missing'] }, then: 'gap' },
  { when: { ...read, stop: ['whole'], promised: ['none', 'kept'] }, then: 'open' },
  { when: { ...read, stop: ['whole'], promised: ['broken'] }, then: 'too-short' },
  // All of a segment is durable before the next one is made: damage in it is no torn tail.
  { when: { ...read, stop: ['damaged'], place: ['earlier'] }, then: 'damaged' },
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['kept'] }, then: 'cut' },
  // A crash while the first segment was made.
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['none'] }, then: 'create' },
  { when: { ...read, stop: ['damaged'], place: ['last'], promised: ['broken'] }, then: 'damaged' },
]

export function matches({ when }: Row, facts: Facts): boolean {
  return (Object.keys(when) as (keyof Facts)[]).every((fact) =>
    (when[fact] as readonly string[]).includes(facts[fact]),
  )
}

export function decide(facts: Facts): Verdict {
  const rows = ROWS.filter((row) => matches(row, facts))
  assert(rows.length === 1, `${rows.length} rows of the recovery table match ${JSON.stringify(facts)}`)
  return (rows[0] as Row).then
}
