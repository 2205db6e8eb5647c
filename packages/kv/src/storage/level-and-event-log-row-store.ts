// Driver: joins two stores of rows into one. The event log has the events. LevelDB has all other rows, and a
// row with the valid end of the event log. The events of a batch become durable first (J1). The batch counts
// as written when LevelDB has the other rows of the batch. So a batch exists whole or not at all (RW1).

import { elementAt } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import type { EventLog } from './event-log.js'
import { VALID_END_KEY, type ValidEnd, decodeValidEnd, encodeValidEnd } from './event-log-file-format.js'
import type { LevelFigures } from './leveldb-stats-parser.js'
import type { EventLogView } from './event-log-view.js'
import { storageFailed } from './abstract-level-row-store.js'
import type { Row, RowChange, RowPage, RowRange, RowStore, RowView } from './row-store-interface.js'

const FIRST = Uint8Array.of(SPACE.events)
const BEHIND = Uint8Array.of(SPACE.events + 1)

const isEvent = (key: Uint8Array): boolean => key[0] === SPACE.events

export function split(batch: readonly RowChange[]): { withEventLog: RowChange[]; others: RowChange[] } {
  const withEventLog: RowChange[] = []
  const others: RowChange[] = []
  for (const change of batch) (isEvent(change.key) ? withEventLog : others).push(change)
  return { withEventLog, others }
}

export class RowsWithEventLog implements RowStore {
  readonly #level: RowStore
  readonly #eventLog: EventLog
  #closed = false
  /** The error of the first failed write. From then on the store refuses all writes (RW6). */
  #failed: LatchkeyError | undefined

  constructor(level: RowStore, eventLog: EventLog) {
    this.#level = level
    this.#eventLog = eventLog
  }

  get(key: Uint8Array): Uint8Array | undefined {
    if (!isEvent(key)) return this.#level.get(key)
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    try {
      return this.#eventLog.get(key)
    } catch (error) {
      throw faultOf(error)
    }
  }

  async write(batch: readonly RowChange[]): Promise<void> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    if (this.#failed !== undefined) throw this.#failed
    const { withEventLog, others } = split(batch)
    if (withEventLog.length === 0) return this.#level.write(batch)
    try {
      await this.#eventLog.append(withEventLog, true)
      others.push(encodeValidEnd(this.#eventLog.validEnd))
      await this.#level.write(others)
      await this.#eventLog.written()
    } catch (error) {
      this.#failed = faultOf(error)
      throw this.#failed
    }
  }

  view(): RowView {
    return new ViewWithEventLog(this.#level.view(), this.#eventLog.view())
  }

  /** The event log needs no compaction, because it removes each file when no event of the file is in use. */
  compact(): Promise<void> {
    return this.#level.compact()
  }

  levelFigures(): LevelFigures | undefined {
    return this.#level.levelFigures?.()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#level.close()
    await this.#eventLog.close()
  }
}

class ViewWithEventLog implements RowView {
  readonly #level: RowView
  readonly #eventLog: EventLogView

  constructor(level: RowView, eventLog: EventLogView) {
    this.#level = level
    this.#eventLog = eventLog
  }

  async page(range: RowRange, rows: number, bytes: number): Promise<RowPage> {
    const found: Row[] = []
    let size = 0
    for (const part of partsOf(range)) {
      if (found.length >= rows || size >= bytes) return { rows: found, end: false }
      const page = await this.#part(part, rows - found.length, bytes - size)
      for (const row of page.rows) {
        found.push(row)
        size += row.key.length + row.value.length
      }
      if (!page.end) return { rows: found, end: false }
    }
    return { rows: found, end: true }
  }

  async #part(part: RowRange, rows: number, bytes: number): Promise<RowPage> {
    if (part.start === undefined || !isEvent(part.start)) return await this.#level.page(part, rows, bytes)
    try {
      return await this.#eventLog.page(part, rows, bytes, () => validEndIn(this.#level))
    } catch (error) {
      throw faultOf(error)
    }
  }

  close(): void {
    this.#level.close()
    this.#eventLog.close()
  }
}

const faultOf = (error: unknown): LatchkeyError =>
  error instanceof LatchkeyError ? error : storageFailed('The event log of rows', error)

async function validEndIn(level: RowView): Promise<ValidEnd> {
  const end = Uint8Array.of(...VALID_END_KEY, 0)
  const { rows } = await level.page({ start: VALID_END_KEY, end }, 1, 1_024)
  return decodeValidEnd(elementAt(rows, 0).value)
}

/**
 * Splits the range into the keys before the rows of events, these rows, and the keys after them. Returns the
 * parts in the order in which they are read, without the empty parts.
 */
function partsOf({ start, end, ...rest }: RowRange): RowRange[] {
  const parts = [
    { ...rest, start, end: lower(end, FIRST) },
    { ...rest, start: higher(start, FIRST), end: lower(end, BEHIND) },
    { ...rest, start: higher(start, BEHIND), end },
  ].filter((part) => part.start === undefined || part.end === undefined || before(part.start, part.end))
  return rest.reverse === true ? parts.reverse() : parts
}

const before = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) < 0
const lower = (a: Uint8Array | undefined, b: Uint8Array): Uint8Array =>
  a === undefined || before(b, a) ? b : a
const higher = (a: Uint8Array | undefined, b: Uint8Array): Uint8Array =>
  a === undefined || before(a, b) ? b : a
