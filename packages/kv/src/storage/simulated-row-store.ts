// Driver: keeps rows in memory, and simulates crashes as if the rows were on a disk. The simulator and tests
// use this store. A synced write survives a crash. A write that was under way at the crash survives whole or
// not at all. Every step is deterministic. (A store with { memory: true } uses memory-level-storage.ts.)

import { wholeValue } from './join-parts-of-row-value.js'
import { EMPTY, assert, binary, copyBytes, fromBinary } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type {
  Row,
  RowBuilder,
  RowChange,
  RowStorage,
  RowPage,
  RowRange,
  RowStore,
  RowView,
} from './row-store-interface.js'
import { lowerBound } from './lazily-sorted-keys.js'

/**
 * Called at each step at which a test may let the disk crash or fail. If this function throws, the step
 * fails.
 */
type DiskFault = (step: 'write' | 'written' | 'build' | 'commit' | 'committed' | 'sweep') => void

/**
 * All rows of a store at one moment. The keys have one character for each byte. The rows are sorted when a
 * range is first read. An image that a view uses never changes.
 */
class Image {
  readonly rows: Map<string, Uint8Array>
  #sorted: string[] | undefined
  shared = false

  constructor(rows = new Map<string, Uint8Array>()) {
    this.rows = rows
  }

  get sorted(): string[] {
    this.#sorted ??= [...this.rows.keys()].sort()
    return this.#sorted
  }

  /** Applies the batch to this image, or to a copy if a view uses this image. */
  with(batch: readonly RowChange[]): Image {
    const image = this.shared ? new Image(new Map(this.rows)) : this
    image.#sorted = undefined
    for (const change of batch) {
      const { key, others } = change
      const value = wholeValue(change)
      if (others !== undefined) for (const one of others) image.rows.delete(binary(one))
      if (value === undefined) image.rows.delete(binary(key))
      else image.rows.set(binary(key), copyBytes(value))
    }
    return image
  }
}

/** The simulated disk, which survives a crash. */
export class SimulatedRowDisk {
  live: Image | undefined
  /** How many stores the disk has besides the live store: stores that are being built, and old stores. */
  leftovers = 0
  fault: DiskFault

  constructor(fault: DiskFault = () => {}) {
    this.fault = fault
  }

  /** Inverts the bits of `mask` in one byte of a row's value. */
  flip(key: Uint8Array, at: number, mask = 1): void {
    const value = this.live?.rows.get(binary(key))
    assert(value !== undefined && at < value.length, 'no such byte')
    value[at] = (value[at] as number) ^ mask
  }

  keys(): Uint8Array[] {
    return (this.live?.sorted ?? []).map((key) => fromBinary(key))
  }
}

export class SimulatedRowStorage implements RowStorage {
  readonly disk: SimulatedRowDisk
  /** The number of crashes. An operation that began before a crash has no effect after the crash. */
  #boot = 0
  /** Returns the image of the disk after the present write. Undefined while no write is under way. */
  #underWay: (() => Image) | undefined

  constructor(disk: SimulatedRowDisk = new SimulatedRowDisk()) {
    this.disk = disk
  }

  /**
   * Simulates a crash of the process. The write that is under way reaches the disk ('kept') or not ('lost').
   */
  crash(kept: 'lost' | 'kept' = 'lost'): void {
    this.#boot++
    const last = this.#underWay
    this.#underWay = undefined
    if (kept === 'kept' && last !== undefined) this.disk.live = last()
  }

  async open(): Promise<RowStore | undefined> {
    this.disk.leftovers = 0
    return this.disk.live === undefined ? undefined : new MemoryRows(this.#port())
  }

  #port(): MemoryPort {
    const boot = this.#boot
    return {
      disk: this.disk,
      isAlive: () => boot === this.#boot,
      begin: (apply) => {
        if (boot === this.#boot) this.#underWay = apply
      },
    }
  }

  async build(): Promise<RowBuilder> {
    this.disk.fault('build')
    this.disk.leftovers++
    return new MemoryBuilder(this.#port())
  }

  async sweep(): Promise<void> {
    this.disk.fault('sweep')
    this.disk.leftovers = 0
  }

  async discard(): Promise<void> {
    this.disk.live = undefined
    this.disk.leftovers = 0
  }
}

interface MemoryPort {
  readonly disk: SimulatedRowDisk
  isAlive(): boolean
  /**
   * Called with `apply` when a write begins, and with undefined when the write ends. `apply` returns the
   * image after the write.
   */
  begin(apply: (() => Image) | undefined): void
}

class MemoryRows implements RowStore {
  readonly #port: MemoryPort
  #image: Image
  #writing = false
  #closed = false

  constructor(port: MemoryPort) {
    this.#port = port
    this.#image = port.disk.live as Image
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#check()
    return this.#image.rows.get(binary(key))
  }

  async write(batch: readonly RowChange[]): Promise<void> {
    this.#check()
    assert(!this.#writing, 'one batch in flight')
    this.#writing = true
    const { disk } = this.#port
    disk.fault('write')
    this.#port.begin(() => this.#image.with(batch))
    await Promise.resolve()
    if (!this.#port.isAlive()) return new Promise(() => {})
    this.#port.begin(undefined)
    this.#image = this.#image.with(batch)
    if (!this.#closed) disk.live = this.#image
    disk.fault('written')
    this.#writing = false
  }

  view(): RowView {
    this.#check()
    this.#image.shared = true
    return new MemoryView(this.#image)
  }

  async compact(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
  }

  #check(): void {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
  }
}

class MemoryView implements RowView {
  #image: Image | undefined

  constructor(image: Image) {
    this.#image = image
  }

  async page({ start, end, reverse, keysOnly }: RowRange, rows: number, bytes: number): Promise<RowPage> {
    if (this.#image === undefined) throw new LatchkeyError('ERR_CLOSED')
    const { sorted, rows: values } = this.#image
    const from = start === undefined ? 0 : lowerBound(sorted, binary(start))
    const to = end === undefined ? sorted.length : lowerBound(sorted, binary(end))
    const found: Row[] = []
    let size = 0
    for (let i = 0; i < to - from; i++) {
      if (found.length >= rows || (size >= bytes && found.length > 0)) return { rows: found, end: false }
      const key = sorted[reverse === true ? to - 1 - i : from + i] as string
      const value = keysOnly === true ? EMPTY : (values.get(key) as Uint8Array)
      size += key.length + value.length
      found.push({ key: fromBinary(key), value })
    }
    return { rows: found, end: true }
  }

  close(): void {
    this.#image = undefined
  }
}

class MemoryBuilder implements RowBuilder {
  readonly #port: MemoryPort
  #image = new Image()

  constructor(port: MemoryPort) {
    this.#port = port
  }

  async write(batch: readonly RowChange[]): Promise<void> {
    this.#port.disk.fault('write')
    this.#image = this.#image.with(batch)
    this.#port.disk.fault('written')
  }

  async commit(): Promise<void> {
    const { disk } = this.#port
    disk.fault('commit')
    if (this.#port.isAlive()) disk.live = this.#image
    disk.fault('committed')
  }

  async abort(): Promise<void> {
    this.#port.disk.leftovers--
  }
}
