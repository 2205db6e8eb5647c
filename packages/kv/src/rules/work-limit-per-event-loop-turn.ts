// Rule: limits the work of applying commands in one turn of the event loop. During a turn the member sends no
// heartbeat, answers no vote request and renews no hold. So when a turn has reached its limit of work, the
// other commands wait for another turn.
//
// Law: the end of a turn has no influence on the state or on any answer.

import type { WorkInTurns } from '../work-in-event-loop-turns.js'

/**
 * In units of work. RECORD: applying one command, without the work for its rows and its bytes. ROW: reading
 * or changing one row.
 */
const RECORD = 1
export const ROW = 2
/**
 * In units of work, the cost of decoding one key that a command names. putAll and compareAndPutAll also check
 * whether the same command changes the key again, which costs another NAMED for each key.
 */
const NAMED = 0.1
/** This many bytes are one more unit of work. */
export const BYTES = 2 * 1024
/** In units of work, how much one turn of the event loop may do: about ten milliseconds. */
const WORK_A_TURN = 2_000

/**
 * The work of a command that may need several turns of the event loop. The generator yields when the present
 * turn has reached its limit of work.
 */
export class LongWork {
  readonly steps: WorkInTurns<unknown>

  constructor(steps: WorkInTurns<unknown>) {
    this.steps = steps
  }
}

export class WorkOfTurn {
  #work = 0

  record(bytes: number): void {
    this.#work += RECORD + bytes / BYTES
  }

  row(bytes: number): void {
    this.#work += ROW + bytes / BYTES
  }

  named(keys: number): void {
    this.#work += keys * NAMED
  }

  get isOver(): boolean {
    return this.#work >= WORK_A_TURN
  }

  begin(): void {
    this.#work = 0
  }
}
