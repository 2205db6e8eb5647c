// Driver: owns buffers that batches use again and again. A buffer's memory is outside of V8's heap. If the
// process allocated and freed much such memory, V8 would collect garbage in its whole heap again and again.
//
// Law: when a buffer is given back to the pool, no view of it is in use.

/**
 * A pooled buffer that is more than this many times larger than the requested length is dropped, because it
 * would waste memory.
 */
const TOO_LARGE = 4

export class BufferPool {
  #buffers: Buffer[] = []
  #taken = 0

  get size(): number {
    return this.#buffers.length
  }

  /** The contents of the buffer are undefined. */
  take(length: number): Buffer {
    this.#taken++
    const spare = this.#buffers.pop()
    return spare !== undefined && spare.length >= length && spare.length <= TOO_LARGE * length
      ? spare
      : Buffer.allocUnsafeSlow(length)
  }

  give(buffer: Buffer): void {
    this.#buffers.push(buffer)
  }

  /**
   * Drops the buffers beyond the number that was taken since the last call. Called once for each batch, so
   * that the pool shrinks when batches become smaller.
   */
  trim(): void {
    if (this.#buffers.length > this.#taken) this.#buffers.length = this.#taken
    this.#taken = 0
  }
}
