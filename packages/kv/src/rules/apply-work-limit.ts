// Rule: limits how much is applied in one turn of the event loop. While a turn runs, the member sends no
// heartbeat, answers no vote and renews no hold. So the work of commands is counted. When the limit of a turn
// is reached, the other commands are applied in another turn.
//
// Law: the point at which a turn ends has no influence on the state or on any answer.

/** The cost of one record of the log. Reading a row costs twice as much, and so does changing one. */
const RECORD = 1
export const ROW = 2
/** This many bytes cost as much as one record. */
export const BYTES = 2 * 1024
/** The cost that is allowed in one turn. This cost takes about ten milliseconds. */
const WORK_A_TURN = 2_000

/**
 * A command that can be interrupted at each yield and continued in another turn of the event loop. When the
 * generator ends, it returns the result of the command.
 */
export type InTurns<T> = Generator<undefined, T, undefined>

/** The work of one command that may take more than one turn of the event loop. */
export class TurnWork {
  readonly steps: InTurns<unknown>

  constructor(steps: InTurns<unknown>) {
    this.steps = steps
  }
}

export class Turn {
  #work = 0

  record(bytes: number): void {
    this.#work += RECORD + bytes / BYTES
  }

  row(bytes: number): void {
    this.#work += ROW + bytes / BYTES
  }

  get isOver(): boolean {
    return this.#work >= WORK_A_TURN
  }

  /** Called when another turn of the event loop begins. */
  begin(): void {
    this.#work = 0
  }
}
