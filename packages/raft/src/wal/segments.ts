// Rule: which segments there are, and which may go.
//
// Law (a log can begin at any whole head): a log may begin with segment k when its head's place was never voided afterwards.
// For then what k and its followers say does not depend on anything before k. A conflict voids heads now and then; the next
// head is whole again, so removal is only late, never stuck.

export interface Segment {
  readonly number: number
  /** The last index before this segment, as its head says. */
  readonly headIndex: number
}

interface Kept extends Segment {
  headVoided: boolean
}

export class Segments {
  #kept: Kept[] = []

  get first(): Segment {
    return this.#kept[0] as Kept
  }

  get count(): number {
    return this.#kept.length
  }

  add(number: number, headIndex: number): void {
    this.#kept.push({ number, headIndex, headVoided: false })
  }

  voidFrom(index: number): void {
    for (const segment of this.#kept) if (segment.headIndex >= index) segment.headVoided = true
  }

  /** The latest segment that a log may begin with when it may start after `index`. */
  newFirst(index: number): Segment {
    const able = this.#kept.filter(({ headIndex, headVoided }) => headIndex <= index && !headVoided)
    return able.at(-1) ?? this.first
  }

  /** Forgets those before `number` and returns their numbers. */
  dropBefore(number: number): number[] {
    const dropped = this.#kept.filter((segment) => segment.number < number)
    this.#kept = this.#kept.filter((segment) => segment.number >= number)
    return dropped.map((segment) => segment.number)
  }
}
