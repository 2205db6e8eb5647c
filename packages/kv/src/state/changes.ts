// Rule: the changes of one command while it runs: no more of them in memory than could be kept as events. Of a command that makes
// many they become rows of events while they come, so that nothing is left to be done for all of them at once.

import { eventKey } from '../keyspaces.js'
import { seal } from '../storage/row-checksum.js'
import { type Change, PIECE_BYTES, encodePiece, eventBytes, firstMark, marked } from './event-row.js'

export interface EventCaps {
  readonly events: number
  readonly eventBytes: number
}

export class Changes {
  /** Those that are in no piece yet. */
  list: Change[] = []
  /** Rows of events, sealed. */
  readonly pieces: Uint8Array[] = []
  count = 0
  bytes = 0
  mark: number
  readonly #revision: number
  readonly #caps: EventCaps
  #listBytes = 0

  /** `revision`: the one that they will take. */
  constructor(revision: number, caps: EventCaps) {
    this.#revision = revision
    this.#caps = caps
    this.mark = firstMark(revision)
  }

  add(change: Change): void {
    const bytes = eventBytes(change.key, change.row, change.before)
    this.count++
    this.bytes += bytes
    if (!this.kept) return this.#drop()
    this.mark = marked(this.mark, change.row, change.before)
    // A piece is closed when it would grow beyond; an event is never cut.
    if (this.list.length > 0 && this.#listBytes + bytes > PIECE_BYTES) this.closePiece()
    this.list.push(change)
    this.#listBytes += bytes
  }

  /** What is in no piece yet becomes the last one. */
  closePiece(): void {
    if (this.list.length === 0) return
    const row = encodePiece(this.list)
    seal(eventKey(this.#revision, this.pieces.length + 1), row)
    this.pieces.push(row)
    this.list = []
    this.#listBytes = 0
  }

  #drop(): void {
    this.list.length = 0
    this.pieces.length = 0
  }

  /** false: more than the history may hold altogether; nothing is kept of them then. */
  get kept(): boolean {
    return this.count <= this.#caps.events && this.bytes <= this.#caps.eventBytes
  }
}
