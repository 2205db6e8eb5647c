// Rule: one number for everything that happens in a run. Equal runs have equal numbers.

export class Fingerprint {
  #low = 0x9e3779b9 | 0
  #high = 0x85ebca6b | 0

  add(value: number): void {
    const low = value | 0
    const high = Math.floor(value / 2 ** 32) | 0
    this.#low = Math.imul(this.#low ^ low, 0x01000193)
    this.#low ^= this.#low >>> 15
    this.#high = Math.imul((this.#high << 5) ^ (this.#high >>> 27) ^ low ^ high, 0x27d4eb2f)
    this.#high = (this.#high + this.#low) | 0
  }

  addText(text: string): void {
    for (let i = 0; i < text.length; i++) this.add(text.charCodeAt(i))
  }

  /** For a state whose hash is computed step by step. */
  value(): number {
    return ((this.#high & 0x1fffff) >>> 0) * 2 ** 32 + (this.#low >>> 0)
  }

  text(): string {
    const hex = (word: number) => (word >>> 0).toString(16).padStart(8, '0')
    return hex(this.#high) + hex(this.#low)
  }
}
