// Rule: the budget of one command: how much one caller may make all members do at once. What can be counted from its bytes is counted
// here, at the door of the client, at that of a member, and again when it is applied, since a log may hold a command that no door
// saw. What depends on the stored rows is counted by the state machine while it applies (kv, rules/budget.ts).
//
// Law: what is refused here is refused with the same words everywhere: an answer that is kept is part of the state.

import { CAPS } from './caps.js'
import { type Command, OP, STEP, type Step } from './operations.js'

export interface BudgetLimits {
  readonly rows: number
  readonly ranges: number
  readonly readBytes: number
  readonly writeBytes: number
}

export const COMMAND_BUDGET: BudgetLimits = {
  rows: CAPS.commandRows,
  ranges: CAPS.commandRanges,
  readBytes: CAPS.commandReadBytes,
  writeBytes: CAPS.commandWriteBytes,
}

/** Keys, conditions and steps that it names, of both branches of a txn: each is a row that it may touch. */
export function rowsNamed(command: Command): number {
  switch (command[0]) {
    case OP.renew:
    case OP.releaseAll:
      return command[1].length
    case OP.putAll:
    case OP.compareAndPutAll:
    case OP.deleteAll:
    case OP.batch:
      return command[2].length
    case OP.txn:
      return command[2].length + command[3].length + command[4].length
    default:
      return 1
  }
}

function rangesNamed(command: Command): number {
  if (command[0] === OP.batch) return rangesIn(command[2])
  return command[0] === OP.txn ? rangesIn(command[3]) + rangesIn(command[4]) : 0
}

const rangesIn = (steps: readonly Step[]): number =>
  steps.reduce((count, step) => (step[0] === STEP.deleteRange ? count + 1 : count), 0)

/** Why it is ERR_TOO_LARGE, and what to do; null: as far as its bytes tell it is within the budget. */
export function overBudget(command: Command, limits: BudgetLimits = COMMAND_BUDGET): string | null {
  const rows = rowsNamed(command)
  if (rows > CAPS.commandHolds && (command[0] === OP.renew || command[0] === OP.releaseAll)) {
    const verb = command[0] === OP.renew ? 'renew' : 'release'
    return `The call ${verb}s ${rows} holds; one call may ${verb} ${CAPS.commandHolds}. Nothing was changed. Split it.`
  }
  if (rows > limits.rows)
    return `The call names ${rows} keys, conditions and steps; one call may touch ${limits.rows} rows. Nothing was changed. Split it.`
  const ranges = rangesNamed(command)
  if (ranges > limits.ranges)
    return `The call has ${ranges} deleteRange steps; one call may have ${limits.ranges}. Nothing was changed. Split it, or give each range a deleteRange of its own.`
  return null
}

/** Of a read of many keys. */
export const tooManyKeys = (keys: number): string | null =>
  keys > CAPS.readKeys
    ? `The call asks for ${keys} keys; one call may ask for ${CAPS.readKeys}. Split it.`
    : null
