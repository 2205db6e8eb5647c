// Driver: rows on a disk that takes its time. A batch is issued at once and durable later; a crash in between leaves it whole or not
// at all, by chance.

import type { Random } from '@latchkey/base'
import type { MemoryHome, RowBuilder, RowChange, RowHome, RowStore } from '@latchkey/kv'
import type { Host } from '../ground/host.js'
import type { House } from '../house.js'

export class SlowHome implements RowHome {
  readonly #inner: MemoryHome
  readonly #host: Host
  readonly #random: Random
  /** Microseconds a batch takes at most. */
  readonly #most: number
  #underWay: (() => void) | undefined

  constructor(house: House, host: Host, random: Random, most: number) {
    this.#inner = new house.MemoryHome(new house.RowsDisk())
    this.#host = host
    this.#random = random
    this.#most = most
  }

  /** The process, and all that it held open, is gone. */
  crash(): void {
    const issue = this.#underWay
    this.#underWay = undefined
    const kept = issue !== undefined && this.#random.chance(0.5)
    if (kept) issue()
    this.#inner.crash(kept ? 'kept' : 'lost')
  }

  async open(): Promise<RowStore | undefined> {
    const store = await this.#inner.open()
    return store === undefined ? undefined : this.#slowed(store)
  }

  async build(): Promise<RowBuilder> {
    const builder = await this.#inner.build()
    return {
      write: async (batch) => {
        await this.#while()
        await builder.write(batch)
      },
      commit: async () => {
        await this.#while()
        await builder.commit()
      },
      abort: () => builder.abort(),
    }
  }

  sweep(): Promise<void> {
    return this.#inner.sweep()
  }

  discard(): Promise<void> {
    return this.#inner.discard()
  }

  #slowed(store: RowStore): RowStore {
    return {
      get: (key) => store.get(key),
      view: () => store.view(),
      close: () => store.close(),
      write: async (batch: readonly RowChange[]) => {
        this.#underWay = () => void store.write(batch)
        await this.#while()
        this.#underWay = undefined
        await store.write(batch)
      },
    }
  }

  /** Never ends for a process that died meanwhile. */
  #while(): Promise<void> {
    const { life } = this.#host
    return new Promise((resolve) => life?.later(this.#random.between(50, this.#most), resolve))
  }
}
