// Driver: owns a view of the rows and sends it as a stream of bytes, for a snapshot or a backup.
//
// Law: two readers of the same view give the same bytes, even if the state machine applies more entries.

import { LatchkeyError } from '@latchkey/protocol'
import type { AppliedState, SnapshotReader } from '@latchkey/raft/node'
import { META_KEY } from '../keyspaces.js'
import type { Row, RowView } from '../storage/row-store-interface.js'
import { pagesOf } from '../storage/scan-rows.js'
import { damagedRow, isIntact } from '../storage/stored-row-checksum.js'
import { decodeMeta } from '../state/meta-row.js'
import { FrameWriter, PREAMBLE } from './stream-format.js'

/**
 * Returns a reader of the view's stream. The reader's `close` closes the view. If a row is damaged, the
 * reading fails with ERR_CORRUPT.
 */
export async function readView(view: RowView): Promise<SnapshotReader> {
  try {
    const page = await view.page({ start: META_KEY, end: undefined }, 1, 1)
    const row = page.rows[0]
    if (row === undefined || !META.equals(row.key)) throw damagedRow(META_KEY, 'it is missing')
    const { position, membership } = decodeMeta(row.value)
    return new ViewReader({ position, membership }, view, row.value)
  } catch (error) {
    view.close()
    throw error
  }
}
const META = Buffer.from(META_KEY)

class ViewReader implements SnapshotReader {
  readonly state: AppliedState
  readonly #view: RowView
  readonly #frames: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)
  #closed = false

  constructor(state: AppliedState, view: RowView, meta: Uint8Array) {
    this.state = state
    this.#view = view
    this.#frames = frames(view, meta)[Symbol.asyncIterator]()
  }

  async read(max: number): Promise<Uint8Array | undefined> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED', 'The snapshot is closed.')
    if (this.#rest.length === 0) {
      const next = await this.#frames.next()
      if (next.done === true) return undefined
      this.#rest = next.value
    }
    const piece = this.#rest.subarray(0, max)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#view.close()
  }
}

async function* frames(view: RowView, meta: Uint8Array): AsyncGenerator<Buffer> {
  const writer = new FrameWriter()
  yield Buffer.concat([PREAMBLE, writer.meta(meta)])
  let count = 0
  for await (const page of pagesOf(view, { start: undefined, end: undefined })) {
    const rows = page.filter(({ key }) => !META.equals(key))
    rows.forEach(assertIntact)
    count += rows.length
    if (rows.length > 0) yield writer.rows(rows)
  }
  yield writer.end(count)
}

function assertIntact({ key, value }: Row): void {
  if (!isIntact(key, value)) throw damagedRow(key)
}
