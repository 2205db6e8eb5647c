// Rule: builds the errors for a log that cannot be opened or that has failed. Each error says in which file
// the fault is, and what an operator can do.

import { LatchkeyError } from '@latchkey/protocol'
import type { Verdict } from './recovery-table.js'

export interface Finding {
  readonly file: string
  readonly offset: number
  readonly reason: string
}

const WHAT_NEXT =
  'Nothing was started and nothing changed. Restore the whole directory as this member last had it, or remove this member ' +
  'from the cluster, empty its directory and let it join again; the other members have its data.'

type Refusal = Exclude<Verdict, 'create' | 'open' | 'cut'>

const REASONS: Readonly<Record<Exclude<Refusal, 'newer'>, string>> = {
  'wrong-log': 'it belongs to another log',
  foreign: 'it does not belong to this log',
  damaged: 'the log is damaged where it was already durable',
  'too-short': 'the log ends before the place to which it was already durable',
  gap: 'a part of the log is missing',
  'mark-lost': 'the durable mark of this log is missing',
  'mark-damaged': 'both copies of the durable mark are damaged',
  'log-lost': 'the log is missing, though the durable mark is there',
}

export function refusal(verdict: Refusal, found: Finding): LatchkeyError {
  const where = `${found.file} at offset ${found.offset}`
  if (verdict === 'newer') {
    return new LatchkeyError(
      'ERR_PROTOCOL',
      `${where}: ${found.reason} was written by a later version of Latchkey. Start this member with that version or a later one.`,
    )
  }
  const code = verdict === 'wrong-log' ? 'ERR_WRONG_CLUSTER' : 'ERR_CORRUPT'
  return new LatchkeyError(code, `${where}: ${REASONS[verdict]} (${found.reason}). ${WHAT_NEXT}`)
}

export const wrongMember = (dir: string, found: string, wanted: string): LatchkeyError =>
  new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The log in ${dir} belongs to ${found}, not to ${wanted}. Give each member a directory of its own.`,
  )

export const storageFailed = (cause: Error): LatchkeyError =>
  new LatchkeyError(
    'ERR_STORAGE_FAILED',
    `The log could not be written (${cause.message}); this member has stopped, and what it was writing is unknown. ` +
      'Repair the disk or make room, then start it again.',
    { cause },
  )

export const storageUnreadable = (cause: unknown): LatchkeyError =>
  new LatchkeyError(
    'ERR_STORAGE_FAILED',
    `The log could not be opened (${(cause as Error).message}). Repair the disk or the directory's rights, then start again.`,
    { cause, outcome: 'not-applied' },
  )
