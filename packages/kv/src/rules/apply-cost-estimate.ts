// Rule: estimates how much work it will be to apply a command, in the units of apply-work-limit.ts, before
// the command is in the log. The leader uses the estimate, so that it does not write more into its log at
// once than it can apply in good time.
//
// Law: the estimate only decides when a command is written into the log. It has no influence on
// what the command does.

import { binary } from '@latchkey/base'
import { type Command, OP, rowsNamed, STEP } from '@latchkey/protocol'
import { BYTES, ROW } from './apply-work-limit.js'

/**
 * If a command names at most this many keys, the sizes of their stored rows are looked up. Applying the
 * command reads these rows, and keeps them in events.
 */
const MOST_LOOKED_UP = 64
/**
 * The least estimate for a command with more keys. Their stored values are not looked up, and may be large.
 */
const LEAST_OF_MANY = 5_000
/** The estimate for a range. The number of its rows is not known before it is read. */
const OF_A_RANGE = 5_000
/**
 * The estimate for openSession and endSession. Each has an entry of its own, which every member
 * must write and sync.
 */
const OF_A_SESSION = 2_500
/** The cost of a row, which is read and written. */
const OF_A_ROW = 2 * ROW

/** `stored` returns how many bytes the stored row of a key has. */
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
  // A stored value is read, copied into the new value, and kept in an event together with the new value.
  // Both are written.
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
    default:
      return []
  }
}
