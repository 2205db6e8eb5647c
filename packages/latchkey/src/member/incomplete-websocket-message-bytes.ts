// Door: counts the bytes of a WebSocket message of which only a part has arrived. The library ws collects
// these bytes, but does not tell how many they are.
//
// This scanner gets the same bytes as ws and reads only the heads of frames. ws checks whether the frames are
// valid.

/** In bytes. The longest head of a frame has two bytes, a length of eight bytes, and a mask of four bytes. */
const LONGEST_HEAD = 14
/** Opcodes from this one on are control frames, such as ping and close. */
const FIRST_CONTROL = 8

export class FrameScan {
  readonly #head = Buffer.alloc(LONGEST_HEAD)
  #headBytes = 0
  /** How many bytes of this frame's payload have not arrived yet. */
  #left = 0
  #endsMessage = false
  #isControl = false
  #message = 0

  /** Returns how many bytes of an unfinished message have arrived, or 0 if no message is unfinished. */
  read(bytes: Uint8Array): number {
    let at = 0
    while (at < bytes.length) {
      if (this.#left > 0) {
        const some = Math.min(this.#left, bytes.length - at)
        at += some
        this.#left -= some
        if (!this.#isControl) this.#message += some
        if (this.#left === 0) this.#frameEnds()
      } else this.#readHead(bytes[at++] as number)
    }
    return this.#message + this.#headBytes
  }

  #readHead(byte: number): void {
    const head = this.#head
    head[this.#headBytes++] = byte
    if (this.#headBytes < 2) return
    const [first, second] = [head[0] as number, head[1] as number]
    const length = second & 0x7f
    const extended = length === 127 ? 8 : length === 126 ? 2 : 0
    const size = 2 + extended + (second & 0x80 ? 4 : 0)
    if (this.#headBytes < size) return
    this.#isControl = (first & 0x0f) >= FIRST_CONTROL
    this.#endsMessage = (first & 0x80) !== 0
    this.#left =
      extended === 8
        ? head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6)
        : extended === 2
          ? head.readUInt16BE(2)
          : length
    this.#headBytes = 0
    if (!this.#isControl) this.#message += size
    if (this.#left === 0) this.#frameEnds()
  }

  #frameEnds(): void {
    if (!this.#isControl && this.#endsMessage) this.#message = 0
  }
}
