// Rule: how much is applied in one turn of the event loop. While a turn lasts nothing else is heard: no heartbeat leaves, no vote is
// answered, no hold is renewed. So the work of commands is counted, and whoever has counted enough goes on in another turn.
// Law: where a turn ends decides nothing of what is applied, nor of its answers.

/** What one record of the log costs. A row that a command looks at costs twice as much, and so does a row that it changes. */
const RECORD = 1
export const ROW = 2
/** These bytes cost as much as a record. */
export const BYTES = 2 * 1024
/** Of a turn: some ten milliseconds. */
const WORK_A_TURN = 2_000

/** A command that may go on in another turn: it is suspended where it yields. What it returns is its result. */
export type InTurns<T> = Generator<undefined, T, undefined>

/** The work of one command that may take more than a turn. */
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

  /** Another turn begins. */
  begin(): void {
    this.#work = 0
  }
}
