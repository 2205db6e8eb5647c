// Rule: a hash of a set of rows, which is updated whenever a row is added or removed, in any order. So
// members can compare millions of rows without reading them. The hash finds accidental differences, but does
// not protect against deliberate collisions.

export type SumParts = readonly [count: number, a: number, b: number]

export class RowSetHash {
  #count = 0
  #a = 0
  #b = 0

  /** `crc` is the checksum of the row, which covers its key and its body. */
  add(crc: number): void {
    this.#count++
    this.#a = (this.#a + crc) >>> 0
    this.#b = (this.#b + mix(crc)) >>> 0
  }

  remove(crc: number): void {
    this.#count--
    this.#a = (this.#a - crc) >>> 0
    this.#b = (this.#b - mix(crc)) >>> 0
  }

  include(other: RowSetHash): void {
    this.#count += other.#count
    this.#a = (this.#a + other.#a) >>> 0
    this.#b = (this.#b + other.#b) >>> 0
  }

  subtract(other: RowSetHash): void {
    this.#count -= other.#count
    this.#a = (this.#a - other.#a) >>> 0
    this.#b = (this.#b - other.#b) >>> 0
  }

  get parts(): SumParts {
    return [this.#count, this.#a, this.#b]
  }

  static from([count, a, b]: SumParts): RowSetHash {
    const sum = new RowSetHash()
    sum.#count = count
    sum.#a = a
    sum.#b = b
    return sum
  }

  toString(): string {
    return `${this.#count}-${hex(this.#a)}${hex(this.#b)}`
  }
}

const hex = (word: number) => word.toString(16).padStart(8, '0')

/**
 * Mixes the bits of `crc`. With this mixing, two different sets have equal sums only about once in 2^64
 * cases.
 */
function mix(crc: number): number {
  const mixed = Math.imul(crc ^ (crc >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 12)) >>> 0
}
