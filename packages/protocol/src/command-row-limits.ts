// Rule: limits how many rows and ranges one command names. Members check the limit when they receive, forward
// and apply a command. Members check again before they apply, because a log may contain a command that no
// member has checked. kv/src/rules/work-limit-per-command.ts limits the work that depends on stored rows.
//
// Law: every member refuses the same command with the same message, because the stored answer to a command is
// part of the replicated state.

import { CAPS } from './fixed-limits.js'
import { type Command, OP, STEP, type Step } from './command-and-read-wire-types.js'

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

/**
 * Counts the keys, conditions and steps of the command, in both branches of a txn. A member may have to read
 * one stored row for each of them.
 */
export function rowsNamed(command: Command): number {
  switch (command[0]) {
    case OP.renew:
    case OP.releaseAll:
    case OP.leaveParties:
      return command[1].length
    case OP.putAll:
    case OP.compareAndPutAll:
    case OP.deleteAll:
    case OP.batch:
    case OP.tryLockAll:
      return command[2].length
    case OP.txn:
      return command[2].length + command[3].length + command[4].length + (command[5] === undefined ? 0 : 1)
    case OP.applyOnce:
      return 1 + rowsNamed(command[2])
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

/** Returns the message for ERR_TOO_LARGE, or null if the command is within the limits. */
export function overBudget(command: Command, limits: BudgetLimits = COMMAND_BUDGET): string | null {
  const rows = rowsNamed(command)
  if (rows > CAPS.commandHolds && (command[0] === OP.renew || command[0] === OP.releaseAll)) {
    const verb = command[0] === OP.renew ? 'renew' : 'release'
    return `The call ${verb}s ${rows} holds; one call may ${verb} ${CAPS.commandHolds}. Nothing was changed. Split it.`
  }
  if (rows > CAPS.commandHolds && command[0] === OP.leaveParties)
    return `The call names ${rows} parties; one call may name ${CAPS.commandHolds}. Nothing was changed. Split it.`
  if (rows > limits.rows)
    return `The call names ${rows} keys, conditions and steps; one call may touch ${limits.rows} rows. Nothing was changed. Split it.`
  const ranges = rangesNamed(command)
  if (ranges > limits.ranges)
    return `The call has ${ranges} deleteRange steps; one call may have ${limits.ranges}. Nothing was changed. Split it, or give each range a deleteRange of its own.`
  return null
}

export const tooManyKeys = (keys: number): string | null =>
  keys > CAPS.readKeys
    ? `The call asks for ${keys} keys; one call may ask for ${CAPS.readKeys}. Split it.`
    : null
