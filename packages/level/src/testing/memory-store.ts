// Driver: a Store in memory, with only the calls that LatchkeyLevel uses. The store checks arguments as the
// real store does.

import { binary, fromBinary } from '@latchkey/base'
import {
  type Bytes,
  CAPS,
  type KeyValueCalls,
  OP,
  type Range,
  type RangeIterator,
  STEP,
  batchArgs,
  deleteAllArgs,
  deleteRangeArgs,
  getArgs,
  putArgs,
  rangeArgs,
} from '@latchkey/protocol'

type Row = { key: Uint8Array; value: Uint8Array | undefined }
type Used =
  | 'get'
  | 'multiGet'
  | 'containsKey'
  | 'put'
  | 'delete'
  | 'batch'
  | 'deleteRange'
  | 'deleteAll'
  | 'entries'
  | 'keys'

export class MemoryStore implements Record<Used, unknown> {
  readonly data = new Map<string, Uint8Array>()

  async get(key: Bytes): Promise<Uint8Array | undefined> {
    return this.data.get(binary(getArgs(key)[1] as Uint8Array))
  }

  async multiGet(keys: readonly Bytes[]): Promise<(Uint8Array | undefined)[]> {
    return Promise.all(keys.map((key) => this.get(key)))
  }

  async containsKey(key: Bytes): Promise<boolean> {
    return (await this.get(key)) !== undefined
  }

  async put(key: Bytes, value: Bytes): Promise<{ revision: number }> {
    const [, , name, data] = putArgs(key, value, undefined) as [number, null, Uint8Array, Uint8Array]
    this.data.set(binary(name), Uint8Array.from(data))
    return { revision: 1 }
  }

  async delete(key: Bytes): Promise<number> {
    return this.deleteAll([key])
  }

  async deleteAll(keys: readonly Bytes[]): Promise<number> {
    const [, , names] = deleteAllArgs(keys, undefined) as [number, null, Uint8Array[]]
    return names.filter((name) => this.data.delete(binary(name))).length
  }

  async deleteRange(start: Bytes, end: Bytes): Promise<number> {
    const [, , from, to] = deleteRangeArgs(start, end, undefined) as [number, null, Uint8Array, Uint8Array]
    const names = [...this.data.keys()].filter((name) => name >= binary(from) && name < binary(to))
    for (const name of names) this.data.delete(name)
    return names.length
  }

  async batch(
    ops: Parameters<KeyValueCalls['batch']>[0],
  ): Promise<{ revision: number; results: (true | number)[] }> {
    const [op, , steps] = batchArgs(ops, undefined)
    if (op !== OP.batch) throw new Error('no batch')
    for (const step of steps as readonly (readonly [number, Uint8Array, Uint8Array])[]) {
      if (step[0] === STEP.put) this.data.set(binary(step[1]), Uint8Array.from(step[2]))
      else this.data.delete(binary(step[1]))
    }
    return { revision: 1, results: [] }
  }

  entries(range?: Range): RangeIterator<Row> {
    const { start, end, reverse, limit, keysOnly } = rangeArgs(range)
    return atFirstRevision(this.#rows(start, end, reverse, limit, keysOnly))
  }

  keys(range?: Range): RangeIterator<Uint8Array> {
    return atFirstRevision(this.#keys(range))
  }

  async *#keys(range?: Range): AsyncGenerator<Uint8Array, undefined> {
    for await (const { key } of this.entries(range)) yield key
  }

  async *#rows(
    start: Uint8Array | null,
    end: Uint8Array | null,
    reverse: boolean,
    limit: number,
    keysOnly: boolean,
  ): AsyncGenerator<Row, undefined> {
    const within = [...this.data]
      .filter(([name]) => (!start || name >= binary(start)) && (!end || name < binary(end)))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    if (reverse) within.reverse()
    for (const [name, value] of within.slice(0, Math.min(limit, CAPS.events))) {
      yield { key: Uint8Array.from(fromBinary(name)), value: keysOnly ? undefined : value }
    }
  }
}

const atFirstRevision = <T>(rows: AsyncGenerator<T, undefined>): RangeIterator<T> =>
  Object.assign(rows, { revision: Promise.resolve(1) })
