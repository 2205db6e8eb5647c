// Driver: a store of rows in two parts that are one: the events in the journal, all else in LevelDB, which says how far the
// journal counts. So a batch is there when LevelDB has it (RW1), with its part of the journal durable before (J1).

import { LatchkeyError } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import type { Journal } from './journal.js'
import { REACH_KEY, type Reach, decodeReach, encodeReach } from './journal-format.js'
import type { JournalView } from './journal-view.js'
import { storageFailed } from './level.js'
import type { Row, RowChange, RowPage, RowRange, RowStore, RowView } from './port.js'

const FIRST = Uint8Array.of(SPACE.events)
const BEHIND = Uint8Array.of(SPACE.events + 1)

const isJournaled = (key: Uint8Array): boolean => key[0] === SPACE.events

/** The journal's part of a batch, and LevelDB's. */
export function split(batch: readonly RowChange[]): { journaled: RowChange[]; others: RowChange[] } {
  const journaled: RowChange[] = []
  const others: RowChange[] = []
  for (const change of batch) (isJournaled(change.key) ? journaled : others).push(change)
  return { journaled, others }
}

export class JournaledRows implements RowStore {
  readonly #level: RowStore
  readonly #journal: Journal
  #closed = false
  /** RW6: why it takes no more. */
  #failed: LatchkeyError | undefined

  constructor(level: RowStore, journal: Journal) {
    this.#level = level
    this.#journal = journal
  }

  get(key: Uint8Array): Uint8Array | undefined {
    if (!isJournaled(key)) return this.#level.get(key)
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    try {
      return this.#journal.get(key)
    } catch (error) {
      throw faultOf(error)
    }
  }

  async write(batch: readonly RowChange[]): Promise<void> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    if (this.#failed !== undefined) throw this.#failed
    const { journaled, others } = split(batch)
    if (journaled.length === 0) return this.#level.write(batch)
    try {
      await this.#journal.append(journaled, true)
      others.push(encodeReach(this.#journal.reach))
      await this.#level.write(others)
      await this.#journal.settle()
    } catch (error) {
      this.#failed = faultOf(error)
      throw this.#failed
    }
  }

  view(): RowView {
    return new JournaledView(this.#level.view(), this.#journal.view())
  }

  /** Files of events are given back by themselves, whole, when their last event goes. */
  compact(): Promise<void> {
    return this.#level.compact()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#level.close()
    await this.#journal.close()
  }
}

class JournaledView implements RowView {
  readonly #level: RowView
  readonly #journal: JournalView

  constructor(level: RowView, journal: JournalView) {
    this.#level = level
    this.#journal = journal
  }

  /** Part after part, as one. */
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
    if (part.start === undefined || !isJournaled(part.start)) return await this.#level.page(part, rows, bytes)
    try {
      return await this.#journal.page(part, rows, bytes, () => reachIn(this.#level))
    } catch (error) {
      throw faultOf(error)
    }
  }

  close(): void {
    this.#level.close()
    this.#journal.close()
  }
}

const faultOf = (error: unknown): LatchkeyError =>
  error instanceof LatchkeyError ? error : storageFailed('The journal of rows', error)

async function reachIn(level: RowView): Promise<Reach> {
  const end = Uint8Array.of(...REACH_KEY, 0)
  const { rows } = await level.page({ start: REACH_KEY, end }, 1, 1_024)
  return decodeReach((rows[0] as Row).value)
}

/** What is before the journal's space, in it, and behind it; in the order in which it is read. */
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
