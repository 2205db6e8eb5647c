// Driver: the rows of a member on a simulated disk. LevelDB's part is in memory: after a crash a write is
// there as a whole or not at all (slow-rows.ts). The events are in the production event log, on the same
// simulated disk as the Raft log. In place of the production code's renamed folders, this file uses numbers.
// The number of a store names the folder of its event log, and LevelDB's part contains the number.

import type { RowBuilder, RowChange, RowStorage, RowStore } from '@latchkey/kv'
import type { MemoryDisk } from '@latchkey/raft/memory'
import type { ProductModules } from '../product-modules.js'
import type { SlowRowStorage } from './slow-rows.js'

type EventLog = Awaited<ReturnType<ProductModules['EventLog']['create']>>

const FOLDER = /^rows-([1-9][0-9]*)\//
/** The key of the store's number. Keys that start with a zero byte belong to the storage. */
const NUMBER_KEY = Uint8Array.of(0, 0x6e)

const folderOf = (number: number): string => `rows-${number}`

export class RowsWithEventLogStorage implements RowStorage {
  readonly #product: ProductModules
  readonly #slow: SlowRowStorage
  readonly #disk: MemoryDisk
  readonly #files: ReturnType<ProductModules['eventLogOnDisk']>
  /** The number of the store that was opened or committed last. 0 means none in this process. */
  #live = 0

  constructor(product: ProductModules, slow: SlowRowStorage, disk: MemoryDisk, fileBytes: number) {
    this.#product = product
    this.#slow = slow
    this.#disk = disk
    this.#files = product.eventLogOnDisk(disk, fileBytes)
  }

  crash(): void {
    this.#live = 0
    this.#slow.crash()
  }

  failNext(): void {
    this.#slow.failNext()
  }

  async open(): Promise<RowStore | undefined> {
    const { EventLog, RowsWithEventLog, VALID_END_KEY, decodeValidEnd } = this.#product
    const level = await this.#slow.open()
    const first = this.#live === 0
    const number = level?.get(NUMBER_KEY)?.[0] ?? 0
    if (first) await this.#removeAll((one) => one !== number)
    if (level === undefined) return undefined
    this.#live = number
    const validEnd = decodeValidEnd(level.get(VALID_END_KEY) as Uint8Array)
    const eventLog = await EventLog.open(folderOf(number), validEnd, this.#files)
    return new RowsWithEventLog(withoutOwnKeys(level), eventLog)
  }

  async build(): Promise<RowBuilder> {
    await this.#removeAll((one) => one > this.#live)
    const number = this.#live + 1
    const inner = await this.#slow.build()
    const eventLog = await this.#product.EventLog.create(folderOf(number), this.#files)
    return {
      write: (batch) => this.#write(inner, eventLog, batch),
      commit: () => this.#commit(inner, eventLog, number),
      abort: async () => {
        await inner.abort()
        await eventLog.close()
      },
    }
  }

  /** As in the production code, writes are not synced one by one. */
  async #write(inner: RowBuilder, eventLog: EventLog, batch: readonly RowChange[]): Promise<void> {
    const { withEventLog, others } = this.#product.split(batch)
    await inner.write(others)
    if (withEventLog.length > 0) await eventLog.append(withEventLog, false)
    await eventLog.written()
  }

  /** Every file is durable before the store counts. */
  async #commit(inner: RowBuilder, eventLog: EventLog, number: number): Promise<void> {
    const { validEnd } = eventLog
    await inner.write([
      this.#product.encodeValidEnd(validEnd),
      { key: NUMBER_KEY, value: Uint8Array.of(number) },
    ])
    await eventLog.close()
    const folder = folderOf(number)
    for (const name of await this.#files.list(folder)) {
      const file = await this.#files.open(`${folder}/${name}`, 'existing')
      await file.sync()
      await file.close()
    }
    await this.#files.sync(folder)
    await inner.commit()
    this.#live = number
  }

  async sweep(): Promise<void> {
    await this.#slow.sweep()
    await this.#removeAll((one) => one < this.#live)
  }

  async discard(): Promise<void> {
    await this.#slow.discard()
    await this.#removeAll(() => true)
    this.#live = 0
  }

  async #removeAll(is: (number: number) => boolean): Promise<void> {
    for (const path of this.#disk.paths()) {
      const number = Number(FOLDER.exec(path)?.[1] ?? 0)
      if (number > 0 && is(number)) await this.#files.remove(path)
    }
  }
}

/** A reader that begins at the first key must not see the keys of the storage. */
function withoutOwnKeys(level: RowStore): RowStore {
  return {
    get: (key) => level.get(key),
    write: (batch) => level.write(batch),
    compact: () => level.compact(),
    close: () => level.close(),
    view: () => {
      const view = level.view()
      return {
        page: (range, rows, bytes) =>
          view.page({ ...range, start: range.start ?? Uint8Array.of(1) }, rows, bytes),
        close: () => view.close(),
      }
    },
  }
}
