// Driver: owns buffers that are used again, so that each batch does not allocate new ones.
// Buffers are memory outside of V8's heap. When much of it is allocated and freed, V8 runs its garbage
// collector over the whole heap again and again.
// Law: when a buffer is given to the pool, no view of it is in use any more.

/**
 * A pooled buffer that is more times larger than this than what is asked for is dropped, because sizes have
 * changed.
 */
const TOO_LARGE = 4

export class BufferPool {
  #buffers: Buffer[] = []
  #taken = 0

  get size(): number {
    return this.#buffers.length
  }

  /** Returns a buffer of at least this length; its contents are undefined. */
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

  /** Called once for each batch: keeps no more buffers than were taken since the last call. */
  trim(): void {
    if (this.#buffers.length > this.#taken) this.#buffers.length = this.#taken
    this.#taken = 0
  }
}
