// Rule: one simulated file: what the process sees (cached), what survives a power loss (durable), and the
// writes in between.

import type { Random } from '@latchkey/base'

const SECTOR = 512

type Write = { readonly offset: number; readonly bytes: Uint8Array } | { readonly length: number }

/** Bytes that grow by doubling. */
export class Image {
  #bytes = new Uint8Array(256)
  length = 0

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.length
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2))
      larger.set(this.view())
      this.#bytes = larger
    }
    if (offset > this.length) this.#bytes.fill(0, this.length, offset)
    this.#bytes.set(bytes, offset)
    if (end > this.length) this.length = end
  }

  truncate(length: number): void {
    this.length = Math.min(this.length, length)
  }

  copy(): Image {
    const other = new Image()
    other.write(0, this.view())
    return other
  }
}

export class SimFile {
  #cached = new Image()
  #durable = new Image()
  #pending: Write[] = []
  #settled = 0

  get length(): number {
    return this.#cached.length
  }

  get durableLength(): number {
    return this.#durable.length
  }

  /** How many writes there ever were: what a sync that starts now covers. */
  get writes(): number {
    return this.#settled + this.#pending.length
  }

  read(): Uint8Array {
    return this.#cached.view()
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#cached.write(offset, bytes)
    this.#pending.push({ offset, bytes })
  }

  truncate(length: number): void {
    this.#cached.truncate(length)
    this.#pending.push({ length })
  }

  /** All writes up to the `writes`-th have reached the medium. */
  settle(writes: number): void {
    const settled = this.#pending.splice(0, Math.max(0, writes - this.#settled))
    this.#settled += settled.length
    for (const write of settled) apply(this.#durable, write)
  }

  /**
   * Power loss: of the unsynced writes any part may have reached the medium, the last one torn at a sector.
   */
  lose(random: Random): void {
    const pending = this.#pending.splice(0)
    this.#settled += pending.length
    const fate = random.between(0, 4)
    const keep = fate === 0 ? 0 : fate === 1 ? pending.length : random.between(0, pending.length + 1)
    pending.forEach((write, i) => {
      if (i < keep) apply(this.#durable, write)
      else if (i === keep && fate !== 0) apply(this.#durable, torn(write, random))
      else if (fate === 3 && random.chance(0.5)) apply(this.#durable, write)
    })
    this.#cached = this.#durable.copy()
  }

  /** A bit that rotted on the medium. */
  flip(offset: number, bit: number): void {
    for (const image of [this.#cached, this.#durable]) {
      const bytes = image.view()
      if (offset < bytes.length) bytes[offset] = (bytes[offset] as number) ^ (1 << bit)
    }
  }
}

function apply(image: Image, write: Write): void {
  if ('length' in write) image.truncate(write.length)
  else image.write(write.offset, write.bytes)
}

function torn(write: Write, random: Random): Write {
  if ('length' in write) return write
  const { offset, bytes } = write
  const end = offset + bytes.length
  const firstEdge = (Math.floor(offset / SECTOR) + 1) * SECTOR
  // Short writes are torn anywhere: a medium that tears only at sectors is one more promise that nobody made.
  if (firstEdge >= end || random.chance(0.5))
    return { offset, bytes: bytes.subarray(0, random.between(0, bytes.length + 1)) }
  const edges = Math.floor((end - firstEdge) / SECTOR) + 1
  return { offset, bytes: bytes.subarray(0, firstEdge + random.between(0, edges) * SECTOR - offset) }
}
