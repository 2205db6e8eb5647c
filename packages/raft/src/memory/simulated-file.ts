// Rule: one file of the simulated disk, which is kept twice: as a reader sees it, and as it would be after a
// power loss.

import type { Random } from '@latchkey/base'

type Pending =
  | { readonly type: 'write'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly type: 'truncate'; readonly length: number }

class Image {
  #bytes = new Uint8Array(256)
  length = 0

  write(offset: number, bytes: Uint8Array): void {
    this.#reserve(offset + bytes.length)
    this.#bytes.set(bytes, offset)
    this.length = Math.max(this.length, offset + bytes.length)
  }

  truncate(length: number): void {
    this.#reserve(length)
    this.#bytes.fill(0, length)
    this.length = length
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.length)
  }

  replace(bytes: Uint8Array): void {
    this.truncate(0)
    this.write(0, bytes)
  }

  #reserve(length: number): void {
    if (length <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(length, this.#bytes.length * 2))
    grown.set(this.#bytes)
    this.#bytes = grown
  }
}

/**
 * How much unsynced data a power loss destroys. 'some': random parts of each write are kept. 'prefix': the
 * first writes are kept whole, and perhaps a part of the next write.
 */
export type Loss = 'none' | 'all' | 'prefix' | 'some'

export class Inode {
  readonly #live = new Image()
  readonly #durable = new Image()
  #pending: Pending[] = []

  static holding(bytes: Uint8Array): Inode {
    const inode = new Inode()
    inode.replace(bytes)
    return inode
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#pending.push({ type: 'write', offset, bytes: bytes.slice() })
    this.#live.write(offset, bytes)
  }

  truncate(length: number): void {
    this.#pending.push({ type: 'truncate', length })
    this.#live.truncate(length)
  }

  sync(): void {
    for (const one of this.#pending) apply(this.#durable, one)
    this.#pending = []
  }

  /**
   * Called when a sync has failed. The operating system then counts the file's cached data as written, so no
   * later sync writes that data.
   */
  forget(): void {
    this.#pending = []
  }

  addPending(offset: number, bytes: Uint8Array): void {
    this.#pending.push({ type: 'write', offset, bytes: bytes.slice() })
  }

  lose(random: Random, loss: Loss): void {
    const kept = this.#kept(random, loss)
    for (const one of kept) apply(this.#durable, one)
    this.#pending = []
    this.#live.replace(this.#durable.bytes())
  }

  #kept(random: Random, loss: Loss): Pending[] {
    if (loss === 'none') return this.#pending
    if (loss === 'all') return []
    if (loss === 'some') return this.#pending.flatMap((one) => torn(one, random))
    const whole = random.between(0, this.#pending.length + 1)
    const next = this.#pending[whole]
    return [...this.#pending.slice(0, whole), ...(next === undefined ? [] : torn(next, random))]
  }

  /** Replaces the visible and the durable content at the same time. */
  replace(bytes: Uint8Array): void {
    this.#live.replace(bytes)
    this.#durable.replace(bytes)
    this.#pending = []
  }

  bytes(): Uint8Array {
    return this.#live.bytes()
  }

  durableBytes(): Uint8Array {
    return this.#durable.bytes()
  }
}

function apply(image: Image, one: Pending): void {
  if (one.type === 'write') image.write(one.offset, one.bytes)
  else image.truncate(one.length)
}

/**
 * Returns the part of an unsynced write that a disk may keep after a power loss: nothing, all, its first
 * sectors, or random sectors.
 */
function torn(one: Pending, random: Random): Pending[] {
  const fate = random.pick(['nothing', 'all', 'first', 'any'] as const)
  if (fate === 'nothing') return []
  if (fate === 'all' || one.type === 'truncate') return [one]
  const sectors = cut(one.offset, one.bytes, random.pick([512, 4096]))
  if (fate === 'first') return sectors.slice(0, random.between(0, sectors.length + 1))
  return sectors.filter(() => random.chance(0.5))
}

function cut(offset: number, bytes: Uint8Array, sector: number): Pending[] {
  const pieces: Pending[] = []
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + sector - ((offset + from) % sector))
    pieces.push({ type: 'write', offset: offset + from, bytes: bytes.subarray(from, to) })
    from = to
  }
  return pieces
}
