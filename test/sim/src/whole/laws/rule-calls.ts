// Driver: what the rules did while one member applied entries, by entry and command, for the judge of locks.

import type { HoldRow, WaiterRow } from '@latchkey/lock'

/** What the rules did beside a command's own answer; `command`: behind which one, -1: before all. */
export interface Note {
  readonly command: number
  readonly kind: 'grant' | 'left' | 'touched'
  readonly row: HoldRow | WaiterRow
  readonly now: number
}

/** What one apply of one member did beside the answers. */
export class RuleCalls {
  readonly notes: Note[][] = []
  #current: object | undefined
  #early: Note[] = []
  #command = -1

  note(tx: object, note: Omit<Note, 'command' | 'now'>): void {
    const { now } = tx as { readonly now: number }
    if (this.#current === tx) this.notes.at(-1)?.push({ ...note, now, command: this.#command })
    // The ends of sessions come before everything else of their entry.
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
