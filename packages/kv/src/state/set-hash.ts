// Rule: a hash over a set of rows that a row can join and leave in any order. It is kept as rows change, so that members compare
// millions of rows without reading one. It finds what diverged by accident; it is no defence against one who builds collisions.

export type SumParts = readonly [count: number, a: number, b: number]

export class Sum {
  #count = 0
  #a = 0
  #b = 0

  /** `crc` is the row's seal, over its key and body. */
  add(crc: number): void {
    this.#count++
    this.#a = (this.#a + crc) >>> 0
    this.#b = (this.#b + stir(crc)) >>> 0
  }

  remove(crc: number): void {
    this.#count--
    this.#a = (this.#a - crc) >>> 0
    this.#b = (this.#b - stir(crc)) >>> 0
  }

  /** All that the other one has. */
  subtract(other: Sum): void {
    this.#count -= other.#count
    this.#a = (this.#a - other.#a) >>> 0
    this.#b = (this.#b - other.#b) >>> 0
  }

  get parts(): SumParts {
    return [this.#count, this.#a, this.#b]
  }

  static from([count, a, b]: SumParts): Sum {
    const sum = new Sum()
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

/** Not linear in crc, so that two sums agree by chance only about once in 2^64. */
function stir(crc: number): number {
  const mixed = Math.imul(crc ^ (crc >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 12)) >>> 0
}
