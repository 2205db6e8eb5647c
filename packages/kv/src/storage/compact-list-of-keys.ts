// Rule: a list of very many row keys in a few large buffers. A string or a buffer for each key would take ten
// times the memory.

const PIECE_BYTES = 256 * 1024
/** In bytes, the size of the length before each key, which is a u16le. */
const HEAD = 2

export class RowKeys implements Iterable<Uint8Array> {
  size = 0
  /** The sum of the bytes of all buffers. */
  bytes = 0
  readonly #pieces: Uint8Array[] = []
  #piece = new Uint8Array(0)
  #used = 0

  add(key: Uint8Array): void {
    if (this.#used + HEAD + key.length > this.#piece.length) this.#begin()
    const at = this.#used
    this.#piece[at] = key.length & 0xff
    this.#piece[at + 1] = key.length >> 8
    this.#piece.set(key, at + HEAD)
    this.#used += HEAD + key.length
    this.size++
  }

  /**
   * Begins a new buffer. The unused bytes at the end of the old buffer are zeros. No key is empty, so a
   * reader that finds the length 0 goes to the next buffer.
   */
  #begin(): void {
    this.#piece = new Uint8Array(PIECE_BYTES + HEAD)
    this.#pieces.push(this.#piece)
    this.#used = 0
    this.bytes += this.#piece.length
  }

  /** Yields the keys in the order of their insertion, as views of the buffers. */
  *[Symbol.iterator](): Iterator<Uint8Array> {
    for (const piece of this.#pieces) {
      for (let at = 0; at + HEAD <= piece.length; ) {
        const length = (piece[at] as number) | ((piece[at + 1] as number) << 8)
        if (length === 0) break
        yield Buffer.from(piece.buffer, at + HEAD, length)
        at += HEAD + length
      }
    }
  }
}
