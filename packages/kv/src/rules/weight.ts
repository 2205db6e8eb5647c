// Rule: estimates the work of applying a command before it is in the log, in the units of apply-turn.ts.
// The leader uses this, so that it does not write more into its log at once than it can apply in good time.
//
// Law: the estimate decides when a command is written into the log, but nothing of what the command does.

import { binary } from '@latchkey/base'
import { type Command, OP, rowsNamed, STEP } from '@latchkey/protocol'
import { BYTES, ROW } from './apply-turn.js'

/**
 * For up to so many keys of a command the stored rows are read, because applying the command reads them and
 * keeps them in events.
 */
const MOST_LOOKED_UP = 64
/**
 * The least estimate for a command with more keys than that: the stored values may be large, and they are not
 * read here.
 */
const LEAST_OF_MANY = 5_000
/** The rows that it removes are not known before its range is read. */
const OF_A_RANGE = 5_000
/**
 * The estimate for openSession and endSession: each has an entry of its own, which is a write of the log on
 * each member.
 */
const OF_A_SESSION = 2_500
/** Each row is read and written. */
const OF_A_ROW = 2 * ROW

/** `stored` returns the bytes of that key's row. */
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
  // A stored value is read, copied into the new one, kept in an event beside the new one, and both are
  // written.
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
