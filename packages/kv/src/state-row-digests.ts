// Driver: owns a view of the whole state after one entry, and computes digests of its rows. Two members
// compare digests to find the first row in which their states differ. A digest is computed from the stored
// keys and bodies, and not from the stored checksums, which may be wrong too.

import { keyAfter } from '@latchkey/base'
import { SPACE, type SpaceName, spaceRange } from './keyspaces.js'
import type { RowView } from './storage/row-store-interface.js'
import { rightChecksum } from './storage/stored-row-checksum.js'
import { RowSetHash } from './state/row-set-hash.js'

export interface RowsDigest {
  readonly sum: string
  readonly first: Uint8Array | undefined
  readonly last: Uint8Array | undefined
}

const PAGE_ROWS = 1_000
const PAGE_BYTES = 1024 * 1024

export class StateDigest {
  readonly #view: RowView

  constructor(view: RowView) {
    this.#view = view
  }

  /**
   * Returns the digest of at most `rows` rows of a key space: the rows after the key `after`, up to and
   * including the key `upTo`. If `after` or `upTo` is undefined, the range has no limit on that side.
   */
  async digest(
    space: SpaceName,
    after: Uint8Array | undefined,
    upTo: Uint8Array | undefined,
    rows = Number.POSITIVE_INFINITY,
  ): Promise<RowsDigest> {
    const whole = spaceRange(SPACE[space])
    const range = { start: after === undefined ? whole.start : keyAfter(after) }
    const stop = upTo === undefined ? whole.end : keyAfter(upTo)
    const sum = new RowSetHash()
    let first: Uint8Array | undefined
    let last: Uint8Array | undefined
    for (let left = rows; left > 0; ) {
      const page = await this.#view.page({ ...range, end: stop }, Math.min(left, PAGE_ROWS), PAGE_BYTES)
      for (const { key, value } of page.rows) sum.add(rightChecksum(key, value))
      first ??= page.rows[0]?.key
      last = page.rows.at(-1)?.key ?? last
      left -= page.rows.length
      if (page.end || last === undefined) break
      range.start = keyAfter(last)
    }
    return { sum: sum.toString(), first, last }
  }

  close(): void {
    this.#view.close()
  }
}
