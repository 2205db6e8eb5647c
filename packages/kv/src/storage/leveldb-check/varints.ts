// Rule: reads the variable-length numbers of LevelDB's files, one after the other.

export interface Handle {
  readonly offset: number
  readonly size: number
}

export class Varints {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Moves the reader `bytes` bytes forward, or to the end if `bytes` is NaN. */
  skip(bytes: number): void {
    this.#at = bytes >= 0 ? this.#at + bytes : this.#bytes.length
  }

  /** Returns the next number, or NaN if the bytes end within it. */
  next(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined || scale > 2 ** 49) return Number.NaN
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  handle(): Handle | undefined {
    const offset = this.next()
    const size = this.next()
    return Number.isSafeInteger(offset + size) ? { offset, size } : undefined
  }
}
