// Rule: executes the commands batch and txn, which have many steps in one revision. Either all steps are
// applied or none.

import { binary, compareBytes, copyBytes } from '@latchkey/base'
import type { LockView } from '@latchkey/lock'
import { isHeldWith } from '@latchkey/lock'
import {
  CAPS,
  type ConditionArg,
  FIELD,
  IS,
  STEP,
  type Step,
  type StepResult,
  type CommandOf,
} from '@latchkey/protocol'
import { KEPT_TOO_LARGE, RESULTS_TOO_LARGE, Refused } from '../commands/answer-encoding.js'
import { createdOf, entryOf, modifiedOf, valueOf, versionOf } from '../state/key-value-row-format.js'
import type { WriteSet } from './command-write-set.js'
import { keptRecordOfTxn } from './once-answers.js'
import { add, numberIn } from './integer-values.js'
import { type Begin, deleteKeysIn, hasValue, mergeInto } from './key-value-commands.js'
import { OverBudget } from './work-limit-per-command.js'
import type { Found } from './ranges-needed-by-command.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'

interface StepContext {
  readonly locks: LockView
  readonly begin: Begin
  readonly found: Found
}

export function* batch(
  writeSet: WriteSet,
  [, , steps]: CommandOf<'batch'>,
  context: StepContext,
): WorkInTurns<unknown> {
  const results = yield* runSteps(writeSet, steps, context)
  return results instanceof Refused ? results : [writeSet.commit(), results]
}

export function* txn(
  writeSet: WriteSet,
  command: CommandOf<'txn'>,
  context: StepContext,
): WorkInTurns<unknown> {
  const [, , when, then, otherwise, once] = command
  const succeeded = yield* allHold(writeSet, context.locks, when)
  if (succeeded instanceof Refused) return succeeded
  const results = yield* runSteps(writeSet, succeeded ? then : otherwise, context)
  if (results instanceof Refused) return results
  if (once !== undefined) {
    const record = keptRecordOfTxn(once, succeeded, results)
    if (record.length > CAPS.valueBytes) return KEPT_TOO_LARGE
    writeSet.put(once[0], record, context.begin(once[2]))
  }
  return [succeeded, writeSet.commit(), results]
}

function* allHold(
  writeSet: WriteSet,
  locks: LockView,
  when: readonly ConditionArg[],
): WorkInTurns<boolean | Refused> {
  for (const condition of when) {
    const outcome = holds(writeSet, locks, condition)
    if (outcome !== true) return outcome
    if (writeSet.turnIsOver) yield
  }
  return true
}

function* runSteps(
  writeSet: WriteSet,
  steps: readonly Step[],
  context: StepContext,
): WorkInTurns<StepResult[] | Refused> {
  const live = context.found.live?.get(steps) ?? NO_KEYS
  if (live instanceof OverBudget) throw live
  const results: StepResult[] = []
  let bytes = 0
  for (const step of steps) {
    const result =
      step[0] === STEP.deleteRange
        ? yield* deleteKeysIn(writeSet, step[1], step[2], live)
        : runStep(writeSet, step, context)
    if (writeSet.turnIsOver) yield
    if (result instanceof Refused) return result
    if (Array.isArray(result)) bytes += result[3].length
    // The size of the answer is limited, because the session keeps the answer, and one message contains it.
    if (bytes > CAPS.sessionAnswerBytes) return RESULTS_TOO_LARGE
    results.push(result)
  }
  return results
}

const NO_KEYS: readonly string[] = []

type OtherStep = Exclude<Step, readonly [typeof STEP.deleteRange, ...unknown[]]>

function runStep(writeSet: WriteSet, step: OtherStep, { begin, locks }: StepContext): StepResult | Refused {
  switch (step[0]) {
    case STEP.put:
      writeSet.put(step[1], step[2], begin(step[3]))
      return true
    case STEP.merge:
      return mergeInto(writeSet, step[1], step[2]) ?? true
    case STEP.delete:
      return writeSet.delete(binary(step[1])) ? 1 : 0
    case STEP.increment:
      return add(writeSet, step[1], step[2])
    case STEP.get:
      return entry(writeSet.row(binary(step[1])), locks.now)
  }
}

function entry(row: Uint8Array | undefined, now: number): StepResult {
  if (row === undefined) return null
  const [created, modified, version, value, ...remaining] = entryOf(row, now)
  return [created, modified, version, copyBytes(value), ...remaining]
}

function holds(
  writeSet: WriteSet,
  locks: LockView,
  [field, is, key, operand]: ConditionArg,
): boolean | Refused {
  if (field === FIELD.lock) return isHeldWith(locks, key, operand as number)
  const row = writeSet.row(binary(key))
  if (field === FIELD.value) return valueHolds(row, is, operand as Uint8Array | null)
  if (field === FIELD.number) {
    const number = numberIn(row)
    // Only the sign of the difference is used. The difference itself may be too large to be exact.
    return number instanceof Refused ? number : compares(Math.sign(number - (operand as number)), is)
  }
  return compares(numberOf(row, field) - ((operand as number | null) ?? 0), is)
}

/** An absent value equals only an absent operand, and is neither less nor greater than any value. */
function valueHolds(row: Uint8Array | undefined, is: number, operand: Uint8Array | null): boolean {
  if (is === IS['=']) return hasValue(row, operand)
  if (is === IS['!=']) return !hasValue(row, operand)
  return row !== undefined && operand !== null && compares(compareBytes(valueOf(row), operand), is)
}

/** Returns the version or a revision of the row. An absent key has 0. */
function numberOf(row: Uint8Array | undefined, field: number): number {
  if (row === undefined) return 0
  if (field === FIELD.version) return versionOf(row)
  return field === FIELD.createRevision ? createdOf(row) : modifiedOf(row)
}

function compares(difference: number, is: number): boolean {
  switch (is) {
    case IS['=']:
      return difference === 0
    case IS['!=']:
      return difference !== 0
    case IS['<']:
      return difference < 0
    default:
      return difference > 0
  }
}
