// Driver: the simulated row store, whose writes and reads of pages wait until the test releases them.

import { SimulatedRowStorage } from '../storage/simulated-row-store.js'
import type { RowStore, RowView } from '../storage/row-store-interface.js'

class Gate {
  #open = Promise.resolve()
  #release: () => void = () => {}

  hold(): void {
    this.#open = new Promise((resolve) => {
      this.#release = resolve
    })
  }
  letGo(): void {
    this.#release()
  }
  pass(): Promise<void> {
    return this.#open
  }
}

export class GatedStorage extends SimulatedRowStorage {
  readonly #writes = new Gate()
  readonly #pages = new Gate()

  holdWrites = () => this.#writes.hold()
  letWrites = () => this.#writes.letGo()
  holdPages = () => this.#pages.hold()
  letPages = () => this.#pages.letGo()

  override async open(): Promise<RowStore | undefined> {
    const store = await super.open()
    if (store === undefined) return undefined
    return {
      get: (key) => store.get(key),
      write: async (batch) => {
        await this.#writes.pass()
        await store.write(batch)
      },
      view: () => this.#gated(store.view()),
      compact: () => store.compact(),
      close: () => store.close(),
    }
  }

  #gated(view: RowView): RowView {
    return {
      page: async (range, rows, bytes) => {
        await this.#pages.pass()
        return await view.page(range, rows, bytes)
      },
      close: () => view.close(),
    }
  }
}
