// Rule: collects the changes that one command makes to keys and values. The state gets the changes after the
// command has succeeded.
//
// Laws: a command reads its own writes (A12). A command that fails changes nothing. A command that changes
// something gets one revision for all its keys. A command that changes nothing gets no revision. The Budget
// of the command counts all rows that the command reads or changes, and throws when a limit is exceeded.

import { binary, copyBytes } from '@latchkey/base'
import { EVENT, type EventType } from '@latchkey/protocol'
import { Changes, type EventCaps } from '../state/command-event-rows.js'
import {
  type Expiry,
  expiryOf,
  hasExpiry,
  nextRow,
  valueLength,
  valueOf,
} from '../state/key-value-row-format.js'
import type { ChangedRow } from '../state/row-table-with-overlay.js'
import { RowSetHash } from '../state/row-set-hash.js'
import { storedChecksum } from '../storage/stored-row-checksum.js'
import { type Change, eventBytes } from '../state/event-row-format.js'
import type { State } from '../state/store-state.js'
import type { Budget } from './work-limit-per-command.js'

export class WriteSet {
  readonly budget: Budget
  readonly #state: State
  readonly #changes: Changes
  readonly #rows = new Map<string, ChangedRow>()
  readonly #sum = new RowSetHash()
  /** The changed keys that had an expiry before the command or have an expiry now. */
  readonly #expiring = new Set<string>()
  /** The revision that the command gets if it changes something. */
  readonly #revision: number

  constructor(state: State, caps: EventCaps, budget: Budget) {
    this.budget = budget
    this.#state = state
    this.#revision = state.meta.revision + 1
    this.#changes = new Changes(this.#revision, caps)
  }

  /** True if this turn of the event loop has reached its limit of work. The command must then yield. */
  get turnIsOver(): boolean {
    return this.budget.turn.isOver
  }

  /** Returns the row of the key after the changes of this command, or undefined if the key does not exist. */
  row(key: string): Uint8Array | undefined {
    return this.#look(key).row ?? undefined
  }

  #look(key: string): ChangedRow {
    const found = this.#find(key)
    this.budget.read(key.length + (found.row === null ? 0 : valueLength(found.row)))
    return found
  }

  #find(key: string): ChangedRow {
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const before = this.#state.data.get(key)
    const found = { before, row: before ?? null, fresh: before === undefined }
    this.#rows.set(key, found)
    return found
  }

  /** Without `expiry`, the key exists until a call deletes it. */
  put(key: Uint8Array, value: Uint8Array, expiry?: Expiry): void {
    const name = binary(key)
    const changed = this.#look(name)
    const previous = changed.row ?? undefined
    const row = nextRow(name, this.#revision, value, previous, undefined, expiry)
    this.#change(changed, { key: name, type: EVENT.put, row, before: changed.row })
  }

  change(key: Uint8Array, value: Uint8Array): void {
    const { row } = this.#find(binary(key))
    this.put(key, value, row === null ? undefined : expiryOf(row))
  }

  #change(changed: ChangedRow, change: Change): void {
    const { key, row, before } = change
    this.budget.written(eventBytes(key, row, before))
    this.#changes.add(change)
    if (before !== null) this.#sum.remove(storedChecksum(before))
    if (row !== null) this.#sum.add(storedChecksum(row))
    if ((before !== null && hasExpiry(before)) || (row !== null && hasExpiry(row))) this.#expiring.add(key)
    changed.row = row
  }

  /** Returns false if the key did not exist. */
  delete(key: string, type: EventType = EVENT.delete): boolean {
    const changed = this.#look(key)
    if (changed.row === null) return false
    this.#change(changed, { key, type, row: null, before: changed.row })
    return true
  }

  /** Returns the keys in [start, end) that this command has read or written so far, including new keys. */
  knownKeys(start: string, end: string): string[] {
    return [...this.#rows.keys()].filter((key) => key >= start && key < end)
  }

  /** Applies the changes. Returns the revision of the store after the command. */
  commit(): number {
    const { meta, data, events, expiryIndex } = this.#state
    if (this.#changes.count === 0) return meta.revision
    for (const key of this.#expiring) {
      const { before, row } = this.#rows.get(key) as ChangedRow
      expiryIndex.changed(key, before, row ?? undefined)
    }
    data.commit({ rows: this.#rows, sum: this.#sum })
    meta.revision = this.#revision
    events.append(this.#changes)
    return meta.revision
  }
}

/**
 * Returns a copy of the row's value for an answer, or null if the row is absent. The row may be a view of the
 * bytes of the log entry. The copy lets an answer stay in memory without these bytes.
 */
export const ownValue = (row: Uint8Array | undefined): Uint8Array | null =>
  row === undefined ? null : copyBytes(valueOf(row))
