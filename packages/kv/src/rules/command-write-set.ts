// Rule: collects the changes of one command to keys and values until the command has succeeded.
//
// Laws: a command reads its own writes (A12). A command that fails changes nothing. A command that changes
// something gets one revision for all its keys, and any other command gets no revision. All rows that the
// command reads or changes are first counted by its Budget (command-budget.ts), which throws when a limit is
// exceeded.

import { binary, copyBytes } from '@latchkey/base'
import { EVENT, type EventType } from '@latchkey/protocol'
import { Changes, type EventCaps } from '../state/command-event-rows.js'
import { type Expiry, expiryOf, nextRow, valueLength, valueOf } from '../state/key-value-row.js'
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

  /** True if the work for this turn of the event loop is done. The command must then yield. */
  get turnIsOver(): boolean {
    return this.budget.turn.isOver
  }

  /**
   * Returns the row of the key, with the changes that this command has made, or undefined if the key does not
   * exist.
   */
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

  /**
   * Puts the value. `expiry` is the new expiry of the key. Without `expiry`, the key exists until a call
   * deletes it.
   */
  put(key: Uint8Array, value: Uint8Array, expiry?: Expiry): void {
    const name = binary(key)
    const slot = this.#look(name)
    const before = slot.now
    slot.now = nextRow(name, this.#revision, value, before, undefined, expiry)
    this.#change({ key: name, type: EVENT.put, row: slot.now, before: before ?? null })
  }

  /** Changes the value of a key. The key keeps its expiry. */
  change(key: Uint8Array, value: Uint8Array): void {
    const { now } = this.#slot(binary(key))
    this.put(key, value, now && expiryOf(now))
  }

  #change(change: Change): void {
    this.budget.written(eventBytes(change.key, change.row, change.before))
    this.#changes.add(change)
  }

  /** Removes the row. Returns false if the key did not exist. */
  delete(key: string, type: EventType = EVENT.delete): boolean {
    const slot = this.#look(key)
    if (slot.now === undefined) return false
    this.#change({ key, type, row: null, before: slot.now })
    slot.now = undefined
    return true
  }

  /** Returns the keys in [start, end) that this command has read or written so far, including new keys. */
  knownKeys(start: string, end: string): string[] {
    return [...this.#slots.keys()].filter((key) => key >= start && key < end)
  }

  /** Applies the changes. Returns the revision of the store after the command. */
  commit(): number {
    const { meta, data, events, expiryIndex } = this.#state
    if (this.#changes.count === 0) return meta.revision
    for (const [key, { before, now }] of this.#slots) {
      if (now === before) continue
      data.set(key, now ?? null, before)
      expiryIndex.changed(key, before, now)
    }
    meta.revision = this.#revision
    events.append(this.#changes)
    return meta.revision
  }
}

/**
 * Returns a copy of the row's value, or null if the row is absent, for an answer. The row may be a view of
 * the bytes of the log entry. An answer is kept for longer than these bytes.
 */
export const ownValue = (row: Uint8Array | undefined): Uint8Array | null =>
  row === undefined ? null : copyBytes(valueOf(row))
