// Rule: what one command does to keys and values, until it is known to succeed. Laws: it reads its own writes (A12); a command
// that fails leaves nothing behind; one that changed something takes one revision for all its keys, any other takes none.

import { binary, copyBytes } from '@latchkey/base'
import { Changes, type EventCaps } from '../state/changes.js'
import { nextRow, valueOf } from '../state/data-row.js'
import type { State } from '../state/state.js'

interface Slot {
  readonly before: Uint8Array | undefined
  now: Uint8Array | undefined
}

export interface DraftCaps extends EventCaps {
  /** Of one deleteRange among other steps: it is done key by key, and held here until the command succeeds. */
  readonly stepKeys: number
}

export class Draft {
  readonly stepKeys: number
  readonly #state: State
  readonly #changes: Changes
  readonly #slots = new Map<string, Slot>()
  /** The revision that this command takes if it changes something. */
  readonly #revision: number

  constructor(state: State, caps: DraftCaps) {
    this.stepKeys = caps.stepKeys
    this.#state = state
    this.#changes = new Changes(caps)
    this.#revision = state.meta.revision + 1
  }

  /** The key's row as this command sees it. */
  row(key: string): Uint8Array | undefined {
    return this.#slot(key).now
  }

  #slot(key: string): Slot {
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    const before = this.#state.data.get(key)
    const slot = { before, now: before }
    this.#slots.set(key, slot)
    return slot
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const name = binary(key)
    const slot = this.#slot(name)
    const before = slot.now
    slot.now = nextRow(name, this.#revision, value, before)
    this.#changes.add({ key: name, row: slot.now, before: before ?? null })
  }

  /** Was there something to remove? */
  delete(key: Uint8Array, name = binary(key)): boolean {
    const slot = this.#slot(name)
    if (slot.now === undefined) return false
    this.#changes.add({ key: name, row: null, before: slot.now })
    slot.now = undefined
    return true
  }

  /** Keys in [start, end) that this command or others before it may have made since the rows were looked up. */
  knownKeys(start: string, end: string): string[] {
    const own = [...this.#slots.keys()].filter((key) => key >= start && key < end)
    return [...own, ...this.#state.data.overlayKeys(start, end)]
  }

  /** The store's revision after the command. */
  commit(): number {
    const { meta, data, events } = this.#state
    if (this.#changes.count === 0) return meta.revision
    for (const [key, { before, now }] of this.#slots) if (now !== before) data.set(key, now ?? null, before)
    meta.revision = this.#revision
    events.append(this.#changes)
    return meta.revision
  }
}

/** A value that an answer holds, or that outlives the entry it came from. */
export const ownValue = (row: Uint8Array | undefined): Uint8Array | null =>
  row === undefined ? null : copyBytes(valueOf(row))
