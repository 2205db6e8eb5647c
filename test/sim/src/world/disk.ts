// Driver: one member's simulated disk. Writes are visible at once and durable after a sync that returned; a
// name is durable after its folder's sync.
//
// Law: after a crash nothing that a returned sync covered is missing; of the rest any part may be there.

import type { Random } from '@latchkey/base'
import type { EventHeap } from '@latchkey/raft/memory'
import { SimFile } from './sim-file.js'

export interface DiskOptions {
  /** Microseconds of a sync, at least and as a long tail. */
  readonly syncBase: number
  readonly syncTail: number
  /** Of a slow disk too. */
  readonly longest: number
}

/**
 * Where a crash can be asked for. 'sync': before it begins; 'syncing': while it is under way; 'synced':
 * durable, the caller not yet told.
 */
export type DiskStep = 'write' | 'sync' | 'syncing' | 'synced' | 'rename' | 'folder' | 'foldered'

/** A change of the folder, not durable yet: `name` stands for `file`, and `gone` for nothing. */
interface Naming {
  readonly name: string | undefined
  readonly file: SimFile | undefined
  readonly gone: string | undefined
}

export class SimDisk {
  readonly #heap: EventHeap
  readonly #now: () => number
  readonly #random: Random
  readonly #options: DiskOptions
  /** Names as the process sees them, and as they would be after a power loss. */
  #names = new Map<string, SimFile>()
  #durableNames = new Map<string, SimFile>()
  #namings: Naming[] = []
  /** Grows with each crash: completions of an older life are dropped. */
  #life = 0
  #crashAt: { step: DiskStep; after: number } | undefined
  /** Called in the middle of the member's work, when an armed crash point is met. */
  onCrashPoint: (() => void) | undefined
  slowness = 1
  failing = false
  syncs = 0

  constructor(heap: EventHeap, now: () => number, random: Random, options: DiskOptions) {
    this.#heap = heap
    this.#now = now
    this.#random = random
    this.#options = options
  }

  get life(): number {
    return this.#life
  }

  /** Asks for a crash at the `after`-th next meeting of `step`. */
  armCrash(step: DiskStep, after: number): void {
    this.#crashAt = { step, after }
  }

  disarm(): void {
    this.#crashAt = undefined
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  read(name: string): Uint8Array | undefined {
    return this.#names.get(name)?.read()
  }

  length(name: string): number {
    return this.#names.get(name)?.length ?? 0
  }

  write(name: string, offset: number, bytes: Uint8Array): void {
    const life = this.#life
    this.#file(name).write(offset, bytes)
    this.#meet('write', life)
  }

  truncate(name: string, length: number): void {
    this.#file(name).truncate(length)
  }

  /**
   * Makes what was written to this file before now durable. A failed sync promises nothing (`ok` false), and
   * must not be repeated.
   */
  sync(name: string, done: (ok: boolean) => void): void {
    const life = this.#life
    if (this.#meet('sync', life)) return
    const file = this.#file(name)
    const covered = file.writes
    if (this.#crashAt?.step === 'syncing') {
      this.#heap.push(this.#now() + 1, this.#complete, { life, run: () => void this.#meet('syncing', life) })
    }
    this.#later(life, () => {
      if (this.failing) return done(false)
      file.settle(covered)
      this.syncs++
      if (!this.#meet('synced', life)) done(true)
    })
  }

  rename(from: string, to: string): void {
    const life = this.#life
    const file = this.#names.get(from)
    if (file === undefined) return
    this.#names.delete(from)
    this.#names.set(to, file)
    this.#namings.push({ name: to, file, gone: from })
    this.#meet('rename', life)
  }

  remove(name: string): void {
    if (this.#names.delete(name)) this.#namings.push({ name: undefined, file: undefined, gone: name })
  }

  syncFolder(done: (ok: boolean) => void): void {
    const life = this.#life
    if (this.#meet('folder', life)) return
    this.#later(life, () => {
      if (this.failing) return done(false)
      this.#settleNames(this.#namings.length)
      if (!this.#meet('foldered', life)) done(true)
    })
  }

  /** The process died: what the machine cached stays. */
  kill(): void {
    this.#life++
    this.disarm()
  }

  /** The machine died: unsynced bytes and names are lost, wholly or in part. */
  powerLoss(): void {
    this.kill()
    this.#settleNames(this.#random.between(0, this.#namings.length + 1))
    this.#namings = []
    for (const file of new Set([...this.#names.values(), ...this.#durableNames.values()])) {
      file.lose(this.#random)
    }
    this.#names = new Map(this.#durableNames)
  }

  wipe(): void {
    this.kill()
    this.#names.clear()
    this.#durableNames.clear()
    this.#namings = []
  }

  /** Bytes of a file that a returned sync has covered; rot is only of interest there. */
  durableLength(name: string): number {
    return this.#durableNames.get(name)?.durableLength ?? 0
  }

  rot(name: string, offset: number, bit: number): void {
    this.#names.get(name)?.flip(offset, bit)
  }

  #file(name: string): SimFile {
    let file = this.#names.get(name)
    if (file === undefined) {
      file = new SimFile()
      this.#names.set(name, file)
      this.#namings.push({ name, file, gone: undefined })
    }
    return file
  }

  #settleNames(count: number): void {
    for (const { name, file, gone } of this.#namings.splice(0, count)) {
      if (gone !== undefined) this.#durableNames.delete(gone)
      if (name !== undefined && file !== undefined) this.#durableNames.set(name, file)
    }
  }

  #later(life: number, run: () => void): void {
    const { syncBase, syncTail, longest } = this.#options
    const u = this.#random.float()
    const delay = Math.floor(Math.min(longest, (syncBase + u * u * u * u * syncTail) * this.slowness))
    this.#heap.push(this.#now() + delay, this.#complete, { life, run })
  }

  #complete = (completion: { life: number; run: () => void }): void => {
    if (completion.life === this.#life) completion.run()
  }

  /** True when the member died here. */
  #meet(step: DiskStep, life: number): boolean {
    const armed = this.#crashAt
    if (armed === undefined || armed.step !== step) return false
    if (armed.after-- > 0) return false
    this.#crashAt = undefined
    this.onCrashPoint?.()
    return this.#life !== life
  }
}
