// Rule: decides which simulated machines can send to each other.
// A cut blocks one direction between two machines. Several cuts of one direction may overlap, and the
// direction works again when all of them have ended.

export class Cuts {
  readonly #cuts = new Map<number, number>()
  readonly #changed: () => void

  constructor(changed: () => void) {
    this.#changed = changed
  }

  cut(from: number, to: number): void {
    this.#add(from, to, 1)
  }

  mend(from: number, to: number): void {
    this.#add(from, to, -1)
  }

  heal(): void {
    this.#cuts.clear()
    this.#changed()
  }

  blocked(from: number, to: number): boolean {
    return (this.#cuts.get(from * 1_000 + to) ?? 0) > 0
  }

  #add(from: number, to: number, count: number): void {
    const key = from * 1_000 + to
    this.#cuts.set(key, Math.max(0, (this.#cuts.get(key) ?? 0) + count))
    this.#changed()
  }
}
