// Rule: how much work a command will be to apply, as far as that can be told before it stands in the log: in the units of apply-turn.ts. A
// leader asks, so that it does not write more into its log at once than it can apply in good time.
//
// Law: it is a guess that decides when a command is written into the log, and nothing of what it does there.

import { binary } from '@latchkey/base'
import { type Command, OP, rowsNamed, STEP } from '@latchkey/protocol'
import { BYTES, ROW } from './apply-turn.js'

/** So many keys of a command are looked up: what is stored there is read, and kept in an event, when it is applied. */
const MOST_LOOKED_UP = 64
/** Of one that names more keys than that: what is stored there may be large, and nobody looked. */
const LEAST_OF_MANY = 5_000
/** What it removes is not known before its range was looked at. */
const OF_A_RANGE = 5_000
/** It stands alone in its entry: a write of the log on each member. */
const OF_A_SESSION = 2_500
/** Each row is looked at, and written. */
const OF_A_ROW = 2 * ROW

/** `stored`: the bytes of that key's row. */
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
  // Read, put together anew, kept in an event beside the new one, and all of that is written.
  return named + (6 * found) / BYTES
}

function keysOf(command: Command): readonly Uint8Array[] {
  switch (command[0]) {
    case OP.putIfAbsent:
    case OP.getAndPut:
    case OP.merge:
    case OP.increment:
      return [command[2]]
    case OP.putAll:
    case OP.compareAndPutAll:
      return command[2].map(([key]) => key)
    case OP.deleteAll:
      return command[2]
    case OP.batch:
      return command[2].map((step) => step[1])
    case OP.txn: {
      const [, , when, then, otherwise] = command
      const keys = when.map(([, , key]) => key)
      for (const step of [...then, ...otherwise]) if (step[0] !== STEP.deleteRange) keys.push(step[1])
      return keys
    }
    default:
      return []
  }
}
