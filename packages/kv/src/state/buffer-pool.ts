// Driver: owns buffers that were used and will be again, so that memory that comes and goes with each batch is no work for the
// collector: what lies outside of its heap makes it look through all of the heap, again and again.
// Law: nobody else has a view of what is given.

/** A buffer that much larger than what is asked for is let go: sizes have changed. */
const TOO_LARGE = 4

export class BufferPool {
  #buffers: Buffer[] = []
  #taken = 0

  get size(): number {
    return this.#buffers.length
  }

  /** At least so long, with anything in it. */
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

  /** Once a batch: no more are kept than were taken since the one before. */
  trim(): void {
    if (this.#buffers.length > this.#taken) this.#buffers.length = this.#taken
    this.#taken = 0
  }
}
