// Rule: collects the changes of one command while it runs, and encodes them as rows of events. A command may
// make many changes. Each change is encoded when it comes, because encoding all changes at the end would take
// one long turn of the event loop. Memory keeps no more changes than the history of events may hold.

import { eventKey } from '../keyspaces.js'
import { sealParts } from '../storage/stored-row-checksum.js'
import { type Change, PIECE_BYTES, encodePiece, eventBytes, firstMark, marked } from './event-row.js'

export interface EventCaps {
  readonly events: number
  readonly eventBytes: number
}

export class Changes {
  /** The changes that are not encoded yet. */
  list: Change[] = []
  /** Rows of encoded events, with their checksums, each in parts. */
  readonly pieces: Uint8Array[][] = []
  count = 0
  bytes = 0
  mark: number
  readonly #revision: number
  readonly #caps: EventCaps
  #listBytes = 0

  /** `revision` is the revision that the changes will get. */
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
    this.mark = marked(this.mark, change)
    // The piece is closed before it would exceed its limit. An event is never split over two pieces.
    if (this.list.length > 0 && this.#listBytes + bytes > PIECE_BYTES) this.closePiece()
    this.list.push(change)
    this.#listBytes += bytes
  }

  /** Encodes the remaining changes as the last piece. */
  closePiece(): void {
    if (this.list.length === 0) return
    const row = encodePiece(this.list)
    sealParts(eventKey(this.#revision, this.pieces.length + 1), row)
    this.pieces.push(row)
    this.list = []
    this.#listBytes = 0
  }

  #drop(): void {
    this.list.length = 0
    this.pieces.length = 0
  }

  /** Whether the history keeps these events. False if the whole history may not hold so many events. */
  get kept(): boolean {
    return this.count <= this.#caps.events && this.bytes <= this.#caps.eventBytes
  }
}
