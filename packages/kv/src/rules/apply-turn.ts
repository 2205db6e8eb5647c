// Rule: limits how much is applied in one turn of the event loop.
// During a turn no heartbeat is sent, no vote is answered and no hold is renewed. So the work of commands is
// counted, and after a certain amount the rest is applied in another turn.
// Law: where a turn ends changes neither what is applied nor its answers.

/**
 * The cost of one record of the log. A row that a command reads costs twice as much, and so does a row that
 * it changes.
 */
const RECORD = 1
export const ROW = 2
/** So many bytes cost as much as a record. */
export const BYTES = 2 * 1024
/** The work of one turn, which takes about ten milliseconds. */
const WORK_A_TURN = 2_000

/** A command that may be continued in another turn, at each yield. It returns the command's result. */
export type InTurns<T> = Generator<undefined, T, undefined>

/** The work of one command that may take more than one turn. */
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

  /** Called when another turn begins. */
  begin(): void {
    this.#work = 0
  }
}
