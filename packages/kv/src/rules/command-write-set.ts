// Rule: collects the changes of one command to keys and values until the command has succeeded.
//
// Laws: a command reads its own writes (A12). A command that fails changes nothing. A command that changes
// something takes one revision for all its keys, and any other command takes no revision. Everything that the
// command reads or changes is first counted against its budget (command-budget.ts). The budget throws when it
// is used up.

import { binary, copyBytes } from '@latchkey/base'
import { EVENT, type EventType } from '@latchkey/protocol'
import { Changes, type EventCaps } from '../state/command-event-rows.js'
import { type Life, lifeOf, nextRow, valueLength, valueOf } from '../state/key-value-row.js'
import { type Change, eventBytes } from '../state/event-row.js'
import type { State } from '../state/store-state.js'
import type { Budget } from './command-budget.js'

interface Slot {
  readonly before: Uint8Array | undefined
  now: Uint8Array | undefined
}

export class WriteSet {
  readonly budget: Budget
  readonly #state: State
  readonly #changes: Changes
  readonly #slots = new Map<string, Slot>()
  /** The revision that the command gets if it changes something. */
  readonly #revision: number

  constructor(state: State, caps: EventCaps, budget: Budget) {
    this.budget = budget
    this.#state = state
    this.#revision = state.meta.revision + 1
    this.#changes = new Changes(this.#revision, caps)
  }

  /**
   * True if the work that is allowed in this turn of the event loop is done, so that the command must yield.
   */
  get turnIsOver(): boolean {
    return this.budget.turn.isOver
  }

  /** The row of the key, with the changes that this command has made to it. */
  row(key: string): Uint8Array | undefined {
    return this.#look(key).now
  }

  #look(key: string): Slot {
    const slot = this.#slot(key)
    this.budget.read(key.length + (slot.now === undefined ? 0 : valueLength(slot.now)))
    return slot
  }

  #slot(key: string): Slot {
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    const before = this.#state.data.get(key)
    const slot = { before, now: before }
    this.#slots.set(key, slot)
    return slot
  }

  /** Puts the value. Without `life` the key never expires, even if it had a lifetime before. */
  put(key: Uint8Array, value: Uint8Array, life?: Life): void {
    const name = binary(key)
    const slot = this.#look(name)
    const before = slot.now
    slot.now = nextRow(name, this.#revision, value, before, undefined, life)
    this.#change({ key: name, type: EVENT.put, row: slot.now, before: before ?? null })
  }

  /** Changes the value of a key. The key keeps its lifetime. */
  change(key: Uint8Array, value: Uint8Array): void {
    const { now } = this.#slot(binary(key))
    this.put(key, value, now && lifeOf(now))
  }

  #change(change: Change): void {
    this.budget.written(eventBytes(change.key, change.row, change.before))
    this.#changes.add(change)
  }

  /** Removes the row. Returns false if there was no row. */
  delete(key: string, type: EventType = EVENT.delete): boolean {
    const slot = this.#look(key)
    if (slot.now === undefined) return false
    this.#change({ key, type, row: null, before: slot.now })
    slot.now = undefined
    return true
  }

  /**
   * Returns the keys in [start, end) that this command has read or written so far. Some of these keys may be
   * new.
   */
  knownKeys(start: string, end: string): string[] {
    return [...this.#slots.keys()].filter((key) => key >= start && key < end)
  }

  /** Applies the changes. Returns the revision of the store after the command. */
  commit(): number {
    const { meta, data, events, lives } = this.#state
    if (this.#changes.count === 0) return meta.revision
    for (const [key, { before, now }] of this.#slots) {
      if (now === before) continue
      data.set(key, now ?? null, before)
      lives.changed(key, before, now)
    }
    meta.revision = this.#revision
    events.append(this.#changes)
    return meta.revision
  }
}

/**
 * Returns a copy of the value for an answer. The row may be a view of the entry's bytes, but an answer is
 * kept for a longer time.
 */
export const ownValue = (row: Uint8Array | undefined): Uint8Array | null =>
  row === undefined ? null : copyBytes(valueOf(row))
