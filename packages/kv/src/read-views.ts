// Driver: owns the views (frozen states) from which clients read page by page: scans, iterations and backups.
// A view that no client uses is closed, and a later read of this view fails. Such a read never continues in a
// newer view, because the rows of two views could contradict each other (R9).

import { type Clock, type Timer, compareBytes } from '@latchkey/base'
import {
  type BackupResult,
  CAPS,
  LatchkeyError,
  type PagePart,
  type PageResult,
  isEmptyRange,
  type ReadOf,
} from '@latchkey/protocol'
import type { SnapshotReader } from '@latchkey/raft/node'
import { META_KEY, SPACE, keyOf, spaceRange } from './keyspaces.js'
import type { Row, RowRange, RowView } from './storage/row-store-interface.js'

import { damagedRow, isIntact } from './storage/stored-row-checksum.js'
import { modifiedOf, valueOf } from './state/key-value-row-format.js'
import { decodeMeta } from './state/meta-row.js'
import type { KvLimits } from './kv-store-types.js'

interface FrozenSources {
  revision(): number
  rows(): Promise<RowView>
  backup(): Promise<SnapshotReader>
}

interface OpenView {
  readonly by: string
  readonly of:
    | { readonly rows: RowView; readonly revision: Promise<number> }
    | { readonly backup: SnapshotReader }
  lastUsed: number
  busy: number
  /** How many bytes of the backup the client has read so far. */
  total: number
}

export class Views {
  readonly #clock: Clock
  readonly #limits: KvLimits
  readonly #freeze: FrozenSources
  readonly #open = new Map<number, OpenView>()
  readonly #opening: string[] = []
  #lastId = 0
  #timer: Timer | undefined

  constructor(clock: Clock, limits: KvLimits, freeze: FrozenSources) {
    this.#clock = clock
    this.#limits = limits
    this.#freeze = freeze
  }

  async page(read: ReadOf<'page'>, by = ''): Promise<PageResult> {
    const [, asked, keep, start, end, reverse, limit, part] = read
    if (asked === 0 && (limit === 0 || isEmptyRange({ start, end }))) return [0, [], this.#freeze.revision()]
    const rowsOf = async () => {
      const rows = await this.#freeze.rows()
      const revision = revisionOf(rows)
      // Each read of a page awaits `revision` and reports its error. Without this empty handler, Node would
      // end the process because of an unhandled rejection.
      revision.catch(() => {})
      return { rows, revision }
    }
    const id = asked === 0 ? await this.#openView(rowsOf, by) : asked
    return await this.#using(id, async ({ of }) => {
      if (!('rows' in of)) throw viewGone()
      const rows = Math.min(limit, CAPS.pageRows)
      const range = { ...dataRange(start, end), reverse, keysOnly: part === 'keys' }
      const page = rows === 0 ? NO_ROWS : await of.rows.page(range, rows, CAPS.pageBytes)
      const shown = page.rows.map((row) => show(row, part))
      const revision = await of.revision
      if (keep && !page.end) return [id, shown, revision]
      this.close(id)
      return [0, shown, revision]
    })
  }

  /**
   * Returns the next piece of a backup. The checksum of each row is checked while the piece is read. The
   * member that restores the backup checks the backup as a whole.
   */
  async backupPiece([, asked]: ReadOf<'backup'>, by = ''): Promise<BackupResult> {
    const backupOf = async () => ({ backup: await this.#freeze.backup() })
    const id = asked === 0 ? await this.#openView(backupOf, by) : asked
    return await this.#using(id, async (open) => {
      // A second read at the same time is refused, because the order of the pieces would be undefined.
      if (!('backup' in open.of) || open.busy > 1) throw viewGone()
      const piece = await open.of.backup.read(CAPS.pageBytes)
      open.total += piece?.length ?? 0
      if (piece !== undefined) return [id, piece, open.total]
      this.close(id)
      return [0, null, open.total]
    })
  }

  async #using<T>(id: number, use: (open: OpenView) => Promise<T>): Promise<T> {
    const open = this.#use(id)
    try {
      return await use(open)
    } catch (error) {
      this.close(id)
      throw error
    } finally {
      open.busy--
      open.lastUsed = this.#clock.now()
    }
  }

  /** The number of open views of one client is limited, so that other clients also get views. */
  async #openView(freeze: () => Promise<OpenView['of']>, by: string): Promise<number> {
    if (this.#open.size + this.#opening.length >= this.#limits.views) throw tooMany('on this member')
    if (this.#countOf(by) >= this.#limits.viewsOfOne) throw tooMany('by these credentials on this member')
    this.#opening.push(by)
    try {
      const of = await freeze()
      this.#open.set(++this.#lastId, { by, of, lastUsed: this.#clock.now(), busy: 0, total: 0 })
      this.#watchIdle()
      return this.#lastId
    } finally {
      this.#opening.splice(this.#opening.indexOf(by), 1)
    }
  }

  #countOf(by: string): number {
    let count = this.#opening.filter((one) => one === by).length
    for (const view of this.#open.values()) if (view.by === by) count++
    return count
  }

  #use(id: number): OpenView {
    const open = this.#open.get(id)
    if (open === undefined) throw viewGone()
    open.busy++
    return open
  }

  close(id: number): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    if ('rows' in open.of) open.of.rows.close()
    else open.of.backup.close()
    this.#open.delete(id)
    if (this.#open.size === 0) this.#stopTimer()
  }

  closeAll(): void {
    for (const id of [...this.#open.keys()]) this.close(id)
  }

  #watchIdle(): void {
    this.#timer ??= this.#clock.after(
      this.#limits.viewIdleMillis,
      () => {
        this.#timer = undefined
        this.#closeIdle(this.#clock.now() - this.#limits.viewIdleMillis)
        if (this.#open.size > 0) this.#watchIdle()
      },
      { ref: false },
    )
  }

  #closeIdle(before: number): void {
    for (const [id, { lastUsed, busy }] of this.#open) if (busy === 0 && lastUsed <= before) this.close(id)
  }

  #stopTimer(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

/**
 * Returns the revision of the view, from the meta row in the view. The present revision of the state machine
 * may be higher, and a watch from this higher revision would miss events.
 */
async function revisionOf(view: RowView): Promise<number> {
  const page = await view.page({ start: META_KEY, end: undefined }, 1, 1)
  const row = page.rows[0]
  if (row === undefined || compareBytes(row.key, META_KEY) !== 0) throw damagedRow(META_KEY, 'it is missing')
  return decodeMeta(row.value).revision
}

const tooMany = (whose: string) =>
  new LatchkeyError('ERR_BUSY', `Too many scans are under way ${whose}. Wait a little and try again.`)

const viewGone = () =>
  new LatchkeyError('ERR_COMPACTED', 'The frozen view of this iteration is gone. Start the iteration again.')

const NO_ROWS = { rows: [], end: true } as const

/**
 * Returns the range of rows for a range of the user's keys. null means that the range has no limit on that
 * side.
 */
function dataRange(start: Uint8Array | null, end: Uint8Array | null): RowRange {
  const whole = spaceRange(SPACE.data)
  return {
    start: start === null ? whole.start : keyOf(SPACE.data, start),
    end: end === null ? whole.end : keyOf(SPACE.data, end),
  }
}

/**
 * Returns the row in the form of the answer. A row with a wrong checksum is an error. A page of keys without
 * values cannot be checked.
 */
function show({ key, value }: Row, part: PagePart): PageResult[1][number] {
  if (part === 'keys') return [key.subarray(1), null]
  if (!isIntact(key, value)) throw damagedRow(key)
  if (part === 'revisions') return [key.subarray(1), valueOf(value), modifiedOf(value)]
  return [part === 'both' ? key.subarray(1) : null, valueOf(value)]
}
