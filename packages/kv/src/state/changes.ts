// Rule: the changes of one command while it runs: no more of them in memory than could be kept as events.

import { type Change, eventBytes } from './event-row.js'

export interface EventCaps {
  readonly events: number
  readonly eventBytes: number
}

export class Changes {
  readonly list: Change[] = []
  count = 0
  bytes = 0
  readonly #caps: EventCaps

  constructor(caps: EventCaps) {
    this.#caps = caps
  }

  add(change: Change): void {
    this.count++
    this.bytes += eventBytes(change.key, change.row, change.before)
    if (this.kept) this.list.push(change)
    else this.list.length = 0
  }

  /** false: more than the history may hold altogether; the list is empty then. */
  get kept(): boolean {
    return this.count <= this.#caps.events && this.bytes <= this.#caps.eventBytes
  }
}
