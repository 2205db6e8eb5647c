// Door: checks that a state from another member, or from a backup, is complete and consistent. Every row has
// a checksum, the end of the stream has the number of rows, and the meta row has sums of checksums. So the
// check finds a row that has changed, is missing, or came twice.

import type { Row } from '../storage/row-store-interface.js'
import { type SpaceName, numberIn, spaceOf } from '../keyspaces.js'
import { isIntact, storedChecksum } from '../storage/stored-row-checksum.js'
import { groupSums } from '../state/events-of-sixteen-revisions.js'
import { type Meta, decodeMeta } from '../state/meta-row.js'
import { RowSetHash } from '../state/row-set-hash.js'
import { isRowOf } from './row-format-check.js'
import { FRAME, type Frame, FrameReader, damagedStream, rowsIn } from './stream-format.js'

const SUMMED = ['data', 'sequences', 'events', 'expiry'] as const satisfies readonly SpaceName[]

export class StateStream {
  readonly #frames = new FrameReader()
  readonly #sums = {
    data: new RowSetHash(),
    sequences: new RowSetHash(),
    events: new RowSetHash(),
    expiry: new RowSetHash(),
  }
  #meta: Meta | undefined
  #metaRow: Uint8Array | undefined
  #count = 0
  /**
   * How many rows of large revisions have not come yet. The row of a group of sixteen revisions says how many
   * such rows follow.
   */
  #piecesDue = 0
  #lastKey: Buffer = Buffer.alloc(0)

  /** Undefined before the first frame. */
  get meta(): Meta | undefined {
    return this.#meta
  }

  /** The meta row as it was received, with its checksum. Undefined before the first frame. */
  get metaRow(): Uint8Array | undefined {
    return this.#metaRow
  }

  /**
   * Takes a piece of the stream, and checks the frames that are complete with this piece. Returns the rows of
   * these frames. The keys and values are parts of the received bytes, and no copies.
   */
  push(piece: Uint8Array): Row[] {
    return this.#frames.push(piece).flatMap((frame) => this.#frame(frame))
  }

  #frame({ kind, body }: Frame): readonly Row[] {
    if (kind === FRAME.meta && this.#meta === undefined) {
      this.#meta = decodeMeta(body)
      this.#metaRow = Uint8Array.from(body)
      return []
    }
    if (this.#meta === undefined) throw damagedStream('no meta row at its beginning')
    const { floor } = this.#meta.events
    if (kind === FRAME.rows) return rowsIn(body).map((row) => this.#row(row, floor))
    if (kind !== FRAME.end) throw damagedStream(`a frame of kind ${kind}`)
    if (body.length !== 6 || body.readUIntLE(0, 6) !== this.#count)
      throw damagedStream(`${this.#count} rows, not as many as it says`)
    return []
  }

  #row(row: Row, floor: number): Row {
    const space = spaceOf(row.key)
    if (space === undefined || space === 'meta') throw damagedStream('a row of no known space')
    if (!isIntact(row.key, row.value) || !isRowOf(space, row)) throw damagedStream(`a row of ${space}`)
    if (this.#lastKey.compare(row.key) >= 0) throw damagedStream(`a row of ${space} out of order`)
    this.#lastKey = Buffer.from(row.key)
    this.#count++
    if (space === 'data' || space === 'sequences' || space === 'expiry')
      this.#sums[space].add(storedChecksum(row.value))
    if (space === 'events') this.#events(row, floor)
    return row
  }

  #events({ key, value }: Row, floor: number): void {
    if (key[7] !== 0 || key[8] !== 0) return void this.#piecesDue--
    const { hashes, pieces } = groupSums(numberIn(key, 1), value, floor)
    for (const hash of hashes) this.#sums.events.add(hash)
    this.#piecesDue += pieces
  }

  /** Called at the end of the stream. Compares the received rows with the sums in the meta row. */
  finish(): Meta {
    if (!this.#frames.ended || this.#meta === undefined) throw damagedStream('it ends too early')
    if (this.#frames.left > 0) throw damagedStream(`${this.#frames.left} bytes behind its end`)
    if (this.#piecesDue !== 0) throw damagedStream('rows of large revisions are missing')
    for (const space of SUMMED) {
      if (this.#sums[space].toString() !== this.#meta.sums[space].toString()) {
        throw damagedStream(`the rows of ${space} are not those of its meta row`)
      }
    }
    return this.#meta
  }
}
