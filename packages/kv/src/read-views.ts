// Driver: owns the frozen views that scans, iterations and backups read from, page by page or piece by piece. A view nobody asks for
// is closed; one that is gone is said to be gone, never replaced by a newer one in silence (R9).

import { type Clock, type Timer, compareBytes } from '@latchkey/base'
import {
  type BackupResult,
  CAPS,
  LatchkeyError,
  type PageResult,
  type READ,
  type Read,
  isEmptyRange,
} from '@latchkey/protocol'
import type { SnapshotReader } from '@latchkey/raft/node'
import { META_KEY, SPACE, keyOf, spaceRange } from './keyspaces.js'
import type { Row, RowRange, RowView } from './storage/row-store.js'

import { damagedRow, isSealed } from './storage/row-checksum.js'
import { valueOf } from './state/data-row.js'
import { decodeMeta } from './state/meta-row.js'
import type { KvLimits } from './kv-store.js'

export type PageRead = Extract<Read, readonly [typeof READ.page, ...unknown[]]>

export type BackupRead = Extract<Read, readonly [typeof READ.backup, ...unknown[]]>

/** What a view may be of: the rows of ranges, or everything as one stream of bytes. */
export interface FrozenSources {
  /** Of everything applied so far. */
  revision(): number
  rows(): Promise<RowView>
  backup(): Promise<SnapshotReader>
}

interface OpenView {
  /** Who opened it. */
  readonly by: string
  readonly of:
    | { readonly rows: RowView; readonly revision: Promise<number> }
    | { readonly backup: SnapshotReader }
  lastUsed: number
  busy: number
  /** Bytes of a backup that were read. */
  total: number
}

export class Views {
  readonly #clock: Clock
  readonly #limits: KvLimits
  /** Everything applied so far. */
  readonly #freeze: FrozenSources
  readonly #open = new Map<number, OpenView>()
  /** Who is having one opened. */
  readonly #opening: string[] = []
  #lastId = 0
  #timer: Timer | undefined

  constructor(clock: Clock, limits: KvLimits, freeze: FrozenSources) {
    this.#clock = clock
    this.#limits = limits
    this.#freeze = freeze
  }

  get size(): number {
    return this.#open.size
  }

  async page(read: PageRead, by = ''): Promise<PageResult> {
    const [, asked, keep, start, end, reverse, limit, part] = read
    // Nothing can be in it: no view is needed.
    if (asked === 0 && (limit === 0 || isEmptyRange({ start, end }))) return [0, [], this.#freeze.revision()]
    const rowsOf = async () => {
      const rows = await this.#freeze.rows()
      const revision = revisionOf(rows)
      // Each page asks for it: an error is told to those who wait for one.
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

  /** The reader checks each row; the member that restores checks the whole. */
  async backupPiece([, asked]: BackupRead, by = ''): Promise<BackupResult> {
    const backupOf = async () => ({ backup: await this.#freeze.backup() })
    const id = asked === 0 ? await this.#openView(backupOf, by) : asked
    return await this.#using(id, async (open) => {
      // One connection asks for one piece after the other: two at once would get them in no order.
      if (!('backup' in open.of) || open.busy > 1) throw viewGone()
      const piece = await open.of.backup.read(CAPS.pageBytes)
      open.total += piece?.length ?? 0
      if (piece !== undefined) return [id, piece, open.total]
      this.close(id)
      return [0, null, open.total]
    })
  }

  /** A view at which something fails is closed. */
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

  /** One who scans much leaves room for all others. */
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

  /** There are few views. */
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
 * As the view itself has it. Not the machine's: it may have applied more by the time at which the view is taken, and who would watch
 * from behind that revision would never hear of what lies between.
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

/** A range of the user's keys as one of rows; null: unbounded. */
export function dataRange(start: Uint8Array | null, end: Uint8Array | null): RowRange {
  const whole = spaceRange(SPACE.data)
  return {
    start: start === null ? whole.start : keyOf(SPACE.data, start),
    end: end === null ? whole.end : keyOf(SPACE.data, end),
  }
}

/** A row that its seal does not vouch for is an error, never a wrong value. Without its value it is not checked: keys only. */
function show(
  { key, value }: Row,
  part: 'both' | 'keys' | 'values',
): readonly [Uint8Array | null, Uint8Array | null] {
  if (part === 'keys') return [key.subarray(1), null]
  if (!isSealed(key, value)) throw damagedRow(key)
  return [part === 'both' ? key.subarray(1) : null, valueOf(value)]
}
