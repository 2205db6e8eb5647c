// Driver: keeps the rows of a store with the option { memory: true } in memory-level. The rows are lost when
// this object is gone.

import { copyBytes } from '@latchkey/base'
import { MemoryLevel } from 'memory-level'
import { LevelRows, operation } from './abstract-level-row-store.js'
import { wholeValue } from './join-parts-of-row-value.js'
import type { RowBuilder, RowChange, RowStorage, RowStore } from './row-store-interface.js'

export function memoryLevelStorage(): RowStorage {
  return new MemoryLevelStorage()
}

type Memory = MemoryLevel<Uint8Array, Uint8Array>

const newLevel = async (): Promise<Memory> => {
  const level = new MemoryLevel<Uint8Array, Uint8Array>({
    storeEncoding: 'view',
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  await level.open()
  return level
}

/**
 * Copies the bytes of each batch. memory-level keeps the arrays that it gets, but a caller may reuse its
 * arrays after the write (RW7).
 */
class OwnRows extends LevelRows {
  override write(batch: readonly RowChange[]): Promise<void> {
    return super.write(
      batch.map((change) => {
        const value = wholeValue(change)
        return value === undefined ? change : { key: change.key, value: copyBytes(value) }
      }),
    )
  }
}

class MemoryLevelStorage implements RowStorage {
  #live: Memory | undefined

  async open(): Promise<RowStore | undefined> {
    if (this.#live === undefined) return undefined
    await this.#live.open()
    return new OwnRows(this.#live)
  }

  async build(): Promise<RowBuilder> {
    const level = await newLevel()
    return {
      write: (batch: readonly RowChange[]) => level.batch(batch.map(operation)),
      commit: async () => {
        this.#live = level
      },
      abort: () => level.close(),
    }
  }

  async sweep(): Promise<void> {}

  async discard(): Promise<void> {
    this.#live = undefined
  }
}
