// Rule: collects the changes of one command while it runs, and encodes the changes as rows of events. A row
// is encoded as soon as it is full. Encoding all changes at the end would make one turn of the event loop too
// long. If the changes exceed a limit of the history of events, they are counted but not kept.

import { eventKey } from '../keyspaces.js'
import { setChecksumOfParts } from '../storage/stored-row-checksum.js'
import { type Change, PIECE_BYTES, encodePiece, eventBytes, firstHash, hashWith } from './event-row-format.js'

export interface EventCaps {
  readonly events: number
  readonly eventBytes: number
}

export class Changes {
  list: Change[] = []
  /** Encoded rows of events, with their checksums. Each row is a list of parts. */
  readonly pieces: Uint8Array[][] = []
  count = 0
  bytes = 0
  hash: number
  readonly #revision: number
  readonly #caps: EventCaps
  #listBytes = 0

  /** The changes will get this revision. */
  constructor(revision: number, caps: EventCaps) {
    this.#revision = revision
    this.#caps = caps
    this.hash = firstHash(revision)
  }

  add(change: Change): void {
    const bytes = eventBytes(change.key, change.row, change.before)
    this.count++
    this.bytes += bytes
    if (!this.kept) return this.#drop()
    this.hash = hashWith(this.hash, change)
    // A piece (a row of events) is closed before it exceeds its limit. An event is never split over two
    // pieces.
    if (this.list.length > 0 && this.#listBytes + bytes > PIECE_BYTES) this.closePiece()
    this.list.push(change)
    this.#listBytes += bytes
  }

  /** Encodes the changes in `list` as a piece. */
  closePiece(): void {
    if (this.list.length === 0) return
    const row = encodePiece(this.list)
    setChecksumOfParts(eventKey(this.#revision, this.pieces.length + 1), row)
    this.pieces.push(row)
    this.list = []
    this.#listBytes = 0
  }

  #drop(): void {
    this.list.length = 0
    this.pieces.length = 0
  }

  /** False if these events alone exceed a limit of the history. */
  get kept(): boolean {
    return this.count <= this.#caps.events && this.bytes <= this.#caps.eventBytes
  }
}
