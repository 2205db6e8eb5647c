// Rule: estimates the work of applying a command, before the command is in the log. One unit is the work of a
// small command, without the work for its rows (work-limit-per-event-loop-turn.ts). The leader adds the
// estimates of the commands that are in its log and not applied yet. While this sum is too large, further
// commands wait.
//
// Law: the estimate has no influence on what the command does.

import { binary } from '@latchkey/base'
import { type Command, OP, rowsNamed, STEP } from '@latchkey/protocol'
import { BYTES, ROW } from './work-limit-per-event-loop-turn.js'

/** If a command names at most this many keys, the estimate uses the sizes of their stored rows. */
const MOST_LOOKED_UP = 64
/**
 * In units of work, the least estimate for a command with more than MOST_LOOKED_UP keys. The sizes of the
 * stored rows are not known, and the rows may be large.
 */
const LEAST_OF_MANY = 5_000
/** In units of work, the estimate for a deleteRange. The number of rows in the range is not known yet. */
const OF_A_RANGE = 5_000
/**
 * In units of work, the estimate for openSession and endSession. Each of these commands is alone in its
 * entry, and every member must write and sync the entry.
 */
const OF_A_SESSION = 2_500
/** In units of work, the cost of reading a row and writing the row. */
const OF_A_ROW = 2 * ROW

/**
 * Estimates the work of a command of `bytes` bytes. `stored` returns the length of a key's stored row in
 * bytes.
 */
export function weightOf(command: Command, bytes: number, stored: (key: string) => number): number {
  const op = command[0]
  if (op === OP.openSession || op === OP.endSession) return OF_A_SESSION
  if (op === OP.deleteRange) return OF_A_RANGE
  const rows = rowsNamed(command)
  const named = rows * OF_A_ROW + (4 * bytes) / BYTES
  if (op >= OP.tryLock || op < OP.put) return named
  if (rows > MOST_LOOKED_UP) return Math.max(named, LEAST_OF_MANY)
  let found = 0
  for (const key of keysOf(command)) found += stored(binary(key))
  // Each byte of a stored value counts six times. The state machine reads the value, copies it into the new
  // value, and copies the old and the new value into an event. Then it writes the new row and the event.
  return named + (6 * found) / BYTES
}

function keysOf(command: Command): readonly Uint8Array[] {
  switch (command[0]) {
    case OP.putIfAbsent:
    case OP.getAndPut:
    case OP.merge:
    case OP.increment:
    case OP.touch:
      return [command[2]]
    case OP.putAll:
    case OP.compareAndPutAll:
      return command[2].map(([key]) => key)
    case OP.deleteAll:
      return command[2]
    case OP.batch:
      return command[2].map((step) => step[1])
    case OP.txn: {
      const [, , when, then, otherwise, once] = command
      const keys = when.map(([, , key]) => key)
      if (once !== undefined) keys.push(once[0])
      for (const step of [...then, ...otherwise]) if (step[0] !== STEP.deleteRange) keys.push(step[1])
      return keys
    }
    case OP.applyOnce:
      return [command[1][0], ...keysOf(command[2])]
    default:
      return []
  }
}
