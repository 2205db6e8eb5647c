// Rule: which segments the log has, and which of them may be removed.
//
// Law: a log may begin with segment k if no later truncation has removed the entry at the index in the head
// of k. Then segment k and all later segments need nothing before k. Without this law: the head of k states
// that the log before segment k ends with entry 9. Later a truncation at 7 removes that entry. If the log
// began with k, its start would be an entry that does not exist any more, and recovery could not apply the
// truncation. A conflict can make the head of a segment unusable, but the next head is usable again. So a
// removal may be late, but removals never stop.

import { elementAt } from '@latchkey/base'
export interface Segment {
  readonly number: number
  /** The index of the last entry before this segment, as the segment's head record states it. */
  readonly headIndex: number
}

interface Kept extends Segment {
  headVoided: boolean
}

export class Segments {
  #kept: Kept[] = []

  get first(): Segment {
    return elementAt(this.#kept, 0)
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

  /** Returns the latest segment with which a log may begin that must contain all entries after `index`. */
  newFirst(index: number): Segment {
    const able = this.#kept.filter(({ headIndex, headVoided }) => headIndex <= index && !headVoided)
    return able.at(-1) ?? this.first
  }

  /** Removes the segments before `number` from the list and returns their numbers. */
  dropBefore(number: number): number[] {
    const dropped = this.#kept.filter((segment) => segment.number < number)
    this.#kept = this.#kept.filter((segment) => segment.number >= number)
    return dropped.map((segment) => segment.number)
  }
}
