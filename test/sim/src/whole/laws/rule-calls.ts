// Driver: records what the lock rules did while one member applied entries, by entry and command, for the
// checks of locks.

import type { HoldRow, WaiterRow } from '@latchkey/lock'

/**
 * What the rules did in addition to the answer of a command. `command` is the number of the command before
 * it, and -1 means before all commands.
 */
export interface Note {
  readonly command: number
  readonly kind: 'grant' | 'left' | 'touched'
  readonly row: HoldRow | WaiterRow
  readonly now: number
}

/** What one apply of one member did in addition to its answers. */
export class RuleCalls {
  readonly notes: Note[][] = []
  #current: object | undefined
  #early: Note[] = []
  #command = -1

  note(tx: object, note: Omit<Note, 'command' | 'now'>): void {
    const { now } = tx as { readonly now: number }
    if (this.#current === tx) this.notes.at(-1)?.push({ ...note, now, command: this.#command })
    // Sessions end before everything else in their entry.
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
