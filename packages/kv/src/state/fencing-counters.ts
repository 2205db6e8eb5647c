// Driver: owns the counters that give the fencing tokens.
//
// Law: a counter never gives a token twice, its tokens only grow, and no counter is ever removed
// (docs/locks.md, section 4).

import { assert, binary, copyBytes } from '@latchkey/base'
import { SPACE } from '../keyspaces.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'
import { rowsOf } from '../storage/scan-rows.js'
import { decodeCounter, encodeCounter } from './lock-rows.js'
import type { Meta } from './meta-row.js'

interface Counter {
  readonly fencingKey: Uint8Array | null
  last: number
}

export class Counters {
  readonly #meta: Meta
  readonly #byKey = new Map<string | null, Counter>()
  readonly #dirty = new Set<Counter>()

  constructor(meta: Meta) {
    this.#meta = meta
  }

  get size(): number {
    return this.#byKey.size
  }

  next(fencingKey: Uint8Array | null): number {
    const counter = this.#counter(fencingKey)
    const token = Math.max(counter.last, this.#meta.tokenBase) + 1
    assert(Number.isSafeInteger(token), 'the tokens of a counter are used up')
    counter.last = token
    this.#dirty.add(counter)
    return token
  }

  #counter(fencingKey: Uint8Array | null): Counter {
    const name = fencingKey === null ? null : binary(fencingKey)
    const known = this.#byKey.get(name)
    if (known !== undefined) return known
    const counter = { fencingKey: fencingKey === null ? null : copyBytes(fencingKey), last: 0 }
    this.#byKey.set(name, counter)
    return counter
  }

  collect(batch: RowChange[]): void {
    for (const { fencingKey, last } of this.#dirty) batch.push(encodeCounter(fencingKey, last))
    this.#dirty.clear()
  }

  *rows(): Iterable<Row> {
    for (const { fencingKey, last } of this.#byKey.values()) yield encodeCounter(fencingKey, last)
  }

  async load(store: RowStore): Promise<void> {
    for await (const row of rowsOf(store, SPACE.counters)) {
      const { fencingKey, last } = decodeCounter(row)
      this.#counter(fencingKey).last = last
    }
  }
}
