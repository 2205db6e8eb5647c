// Driver: rows on a slow disk. A batch is visible immediately and durable later. After a crash or a failed
// write, the whole batch is there or none of it.

import type { Random } from '@latchkey/base'
import type { SimulatedRowStorage, RowBuilder, RowChange, RowStorage, RowStore } from '@latchkey/kv'
import type { Host } from '@latchkey/raft/memory'
import type { ProductModules } from '../product-modules.js'

export class SlowRowStorage implements RowStorage {
  readonly #inner: SimulatedRowStorage
  readonly #host: Host
  readonly #random: Random
  /** In µs, the longest time of the write of a batch. */
  readonly #most: number
  #underWay: (() => void) | undefined
  #fails = false

  constructor(product: ProductModules, host: Host, random: Random, most: number) {
    this.#inner = new product.SimulatedRowStorage(new product.SimulatedRowDisk())
    this.#host = host
    this.#random = random
    this.#most = most
  }

  crash(): void {
    this.#fails = false
    const issue = this.#underWay
    this.#underWay = undefined
    const kept = issue !== undefined && this.#random.chance(0.5)
    if (kept) issue()
    this.#inner.crash(kept ? 'kept' : 'lost')
  }

  failNext(): void {
    this.#fails = true
  }

  async #orFail(write: () => Promise<void>): Promise<void> {
    const fails = this.#fails
    this.#fails = false
    if (!fails || this.#random.chance(0.5)) await write()
    if (fails) throw new Error('EIO: the disk failed')
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
        await this.#orFail(() => builder.write(batch))
      },
      commit: async () => {
        await this.#while()
        await this.#orFail(() => builder.commit())
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
      compact: () => store.compact(),
      close: () => store.close(),
      write: async (batch: readonly RowChange[]) => {
        this.#underWay = () => void store.write(batch)
        await this.#while()
        this.#underWay = undefined
        await this.#orFail(() => store.write(batch))
      },
    }
  }

  /** If the process dies during the wait, the promise never resolves. */
  #while(): Promise<void> {
    const { life } = this.#host
    return new Promise((resolve) => life?.later(this.#random.between(50, this.#most), resolve))
  }
}
