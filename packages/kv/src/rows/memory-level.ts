// Driver: the rows of a store of { memory: true }: memory-level. Nothing of it survives its process.

import { MemoryLevel } from 'memory-level'
import { type Level, LevelRows, operation } from './level.js'
import type { RowBuilder, RowChange, RowHome, RowStore } from './port.js'

export function memoryLevelHome(): RowHome {
  return new MemoryLevelHome()
}

const newLevel = async (): Promise<Level> => {
  const level = new MemoryLevel<Uint8Array, Uint8Array>({
    storeEncoding: 'view',
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  await level.open()
  return level
}

class MemoryLevelHome implements RowHome {
  #live: Level | undefined

  async open(): Promise<RowStore | undefined> {
    return this.#live === undefined ? undefined : new LevelRows(this.#live)
  }

  async build(): Promise<RowBuilder> {
    const level = await newLevel()
    return {
      write: (batch: readonly RowChange[]) => level.batch(batch.map(operation), { sync: false }),
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
