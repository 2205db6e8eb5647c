// Rule: batch and txn: many steps with one revision, all or nothing.

import { binary, compareBytes, copyBytes } from '@latchkey/base'
import type { LockView } from '@latchkey/lock'
import { isHeldWith } from '@latchkey/lock'
import {
  CAPS,
  type ConditionArg,
  type Command,
  FIELD,
  IS,
  type OP,
  STEP,
  type Step,
  type StepResult,
} from '@latchkey/protocol'
import { KEPT_TOO_LARGE, RESULTS_TOO_LARGE, Refused } from '../commands/answers.js'
import { createdOf, entryOf, modifiedOf, valueOf, versionOf } from '../state/data-row.js'
import type { Draft } from './draft.js'
import { keptRecord } from './kept-answers.js'
import { add, numberIn } from './numbers.js'
import { type Begin, deleteKeysIn, hasValue, mergeInto } from './key-values.js'
import { OverBudget } from './budget.js'
import type { Found } from './needed-ranges.js'
import type { InTurns } from './apply-turn.js'

type Of<Name extends keyof typeof OP> = Extract<Command, readonly [(typeof OP)[Name], ...unknown[]]>

/** What its steps need to know besides. */
export interface StepContext {
  readonly locks: LockView
  readonly begin: Begin
  readonly found: Found
}

export function* batch(draft: Draft, [, , steps]: Of<'batch'>, context: StepContext): InTurns<unknown> {
  const results = yield* runSteps(draft, steps, context)
  return results instanceof Refused ? results : [draft.commit(), results]
}

export function* txn(draft: Draft, command: Of<'txn'>, context: StepContext): InTurns<unknown> {
  const [, , when, then, otherwise, once] = command
  const succeeded = yield* allHold(draft, context.locks, when)
  if (succeeded instanceof Refused) return succeeded
  const results = yield* runSteps(draft, succeeded ? then : otherwise, context)
  if (results instanceof Refused) return results
  if (once !== undefined) {
    const record = keptRecord(once, succeeded, results)
    if (record.length > CAPS.valueBytes) return KEPT_TOO_LARGE
    draft.put(once[0], record, context.begin(once[2]))
  }
  return [succeeded, draft.commit(), results]
}

function* allHold(draft: Draft, locks: LockView, when: readonly ConditionArg[]): InTurns<boolean | Refused> {
  for (const condition of when) {
    const outcome = holds(draft, locks, condition)
    if (outcome !== true) return outcome
    if (draft.turnIsOver) yield
  }
  return true
}

function* runSteps(
  draft: Draft,
  steps: readonly Step[],
  context: StepContext,
): InTurns<StepResult[] | Refused> {
  const live = context.found.live?.get(steps) ?? NO_KEYS
  if (live instanceof OverBudget) throw live
  const results: StepResult[] = []
  let bytes = 0
  for (const step of steps) {
    const result =
      step[0] === STEP.deleteRange
        ? yield* deleteKeysIn(draft, step[1], step[2], live)
        : runStep(draft, step, context)
    if (draft.turnIsOver) yield
    if (result instanceof Refused) return result
    if (Array.isArray(result)) bytes += result[3].length
    // The answer is kept until its client has it, and is sent in one piece.
    if (bytes > CAPS.sessionAnswerBytes) return RESULTS_TOO_LARGE
    results.push(result)
  }
  return results
}

const NO_KEYS: readonly string[] = []

type OtherStep = Exclude<Step, readonly [typeof STEP.deleteRange, ...unknown[]]>

function runStep(draft: Draft, step: OtherStep, { begin, locks }: StepContext): StepResult | Refused {
  switch (step[0]) {
    case STEP.put:
      draft.put(step[1], step[2], begin(step[3]))
      return true
    case STEP.merge:
      return mergeInto(draft, step[1], step[2]) ?? true
    case STEP.delete:
      return draft.delete(binary(step[1])) ? 1 : 0
    case STEP.increment:
      return add(draft, step[1], step[2])
    case STEP.get:
      return entry(draft.row(binary(step[1])), locks.now)
  }
}

function entry(row: Uint8Array | undefined, now: number): StepResult {
  if (row === undefined) return null
  const [created, modified, version, value, ...remaining] = entryOf(row, now)
  return [created, modified, version, copyBytes(value), ...remaining]
}

function holds(draft: Draft, locks: LockView, [field, is, key, operand]: ConditionArg): boolean | Refused {
  if (field === FIELD.lock) return isHeldWith(locks, key, operand as number)
  const row = draft.row(binary(key))
  if (field === FIELD.value) return valueHolds(row, is, operand as Uint8Array | null)
  if (field === FIELD.number) {
    const number = numberIn(row)
    // Only the sign of the difference is used, because the difference of two safe integers need not be a safe
    // integer.
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

/** The revisions and the version of an absent key are 0. */
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
