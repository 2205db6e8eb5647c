// Driver: records what the lock rules did during an apply of one member, by entry and command.

import type { HoldRow, WaiterRow } from '@latchkey/lock'

/**
 * An effect of the rules besides the answer of a command. `command` is the number of the previous command, or
 * -1 before all commands.
 */
export interface Note {
  readonly command: number
  readonly kind: 'grant' | 'left' | 'touched'
  readonly row: HoldRow | WaiterRow
  readonly now: number
}

export class RuleCalls {
  readonly notes: Note[][] = []
  #current: object | undefined
  #early: Note[] = []
  #command = -1

  note(tx: object, note: Omit<Note, 'command' | 'now'>): void {
    const { now } = tx as { readonly now: number }
    if (this.#current === tx) this.notes.at(-1)?.push({ ...note, now, command: this.#command })
    // Sessions end before all commands of their entry.
    else this.#early.push({ ...note, now, command: -1 })
  }

  entry(tx: object): void {
    this.#current = tx
    this.#command = -1
    this.notes.push(this.#early)
    this.#early = []
  }

  nextCommand(): void {
    this.#command++
  }
}
