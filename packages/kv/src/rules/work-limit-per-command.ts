// Rule: limits the work of one command while the command is applied. (protocol's command-row-limits.ts checks
// the limits that depend only on the bytes of the command.)
//
// Without a limit, one command of 15 KB could name 1,500 ranges over the same 5,000 long keys, or append to a
// value of 0.9 MB two thousand times. Every member that applies this command would run out of memory or stop
// for a minute. After a restart the member would apply the command again, and fail again.
//
// Laws
// - The counts never depend on whether rows are in memory or on the disk. So every member refuses the same
//   command, at the same step, with the same message.
// - The work for a row is counted before the command reads or changes the row, or directly afterwards. So a
//   command does at most one row of work beyond a limit. A refused command changes nothing
//   (command-write-set.ts).

import type { BudgetLimits } from '@latchkey/protocol'
import { Refused } from '../commands/answer-encoding.js'
import type { WorkOfTurn } from './work-limit-per-event-loop-turn.js'

/**
 * Thrown by a running command that exceeds a limit. apply-entry.ts catches this error and answers with the
 * refusal.
 */
export class OverBudget extends Error {
  override readonly name = 'OverBudget'
  readonly refused: Refused

  constructor(what: string, most: number, unit: string, advice: string) {
    super(`The call would ${what} more than ${most} ${unit}. Nothing was changed. ${advice}`)
    this.refused = new Refused('ERR_TOO_LARGE', this.message)
  }
}

export class Budget {
  readonly limits: BudgetLimits
  readonly turn: WorkOfTurn
  #rows: number
  #read = 0
  #written = 0

  /**
   * `rows` is the number of rows that the command names. `turn` counts the same work for the limit of a turn
   * of the event loop.
   */
  constructor(limits: BudgetLimits, rows: number, turn: WorkOfTurn) {
    this.limits = limits
    this.turn = turn
    this.#rows = rows
  }

  /** Counts the rows that a deleteRange step of the command removes. */
  rows(count: number): void {
    this.#rows += count
    if (this.#rows > this.limits.rows) throw tooManyRows(this.limits)
  }

  read(bytes: number): void {
    this.turn.row(bytes)
    this.#read += bytes
    if (this.#read > this.limits.readBytes) throw tooManyReadBytes(this.limits)
  }

  /** Counts the bytes of an event: its key, the new value and the previous value. */
  written(bytes: number): void {
    this.turn.row(bytes)
    this.#written += bytes
    if (this.#written > this.limits.writeBytes)
      throw new OverBudget(
        'write',
        this.limits.writeBytes,
        'bytes of keys, values and the values before them',
        'Split it.',
      )
  }
}

const tooManyRows = ({ rows }: BudgetLimits): OverBudget =>
  new OverBudget(
    'touch',
    rows,
    'rows, those counted that its deleteRange steps remove',
    'Split it, or give a large range a deleteRange of its own.',
  )

const tooManyReadBytes = ({ readBytes }: BudgetLimits): OverBudget =>
  new OverBudget('read', readBytes, 'bytes of keys and values', 'Split it.')

/** Returns the refusal if a look-up has found too many rows or bytes, else undefined. */
export function overFound(limits: BudgetLimits, rows: number, bytes: number): OverBudget | undefined {
  if (rows > limits.rows) return tooManyRows(limits)
  return bytes > limits.readBytes ? tooManyReadBytes(limits) : undefined
}
