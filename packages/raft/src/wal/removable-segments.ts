// Rule: keeps the list of the log's segments, and decides which of them may be removed.
//
// The first record of a segment, its head, names the last entry before the segment. Law: a log may begin with
// segment k only if no later truncation has removed the entry that the head of k names. Without this law: the
// head of k names entry 9. A later truncation removes all entries from 7 on. If the segments before k were
// removed, the log would begin after entry 9, which is not valid any more. Recovery could not apply the
// truncation.
//
// If the log cannot begin with segment k, it can usually begin with the next segment. So some segments are
// removed later, but no segment stays for ever.

import { elementAt } from '@latchkey/base'
interface Segment {
  readonly number: number
  /** The index of the last entry before this segment, as the segment's head record states it. */
  readonly headIndex: number
}

interface Kept extends Segment {
  headTruncated: boolean
}

export class Segments {
  #kept: Kept[] = []

  get first(): Segment {
    return elementAt(this.#kept, 0)
  }

  add(number: number, headIndex: number): void {
    this.#kept.push({ number, headIndex, headTruncated: false })
  }

  truncateFrom(index: number): void {
    for (const segment of this.#kept) if (segment.headIndex >= index) segment.headTruncated = true
  }

  /**
   * Returns the latest segment that may become the log's first segment, if all entries after `index` must
   * stay.
   */
  newFirst(index: number): Segment {
    const able = this.#kept.filter(({ headIndex, headTruncated }) => headIndex <= index && !headTruncated)
    return able.at(-1) ?? this.first
  }

  /** Removes the segments before `number` from this list. The caller deletes the files. */
  dropBefore(number: number): number[] {
    const dropped = this.#kept.filter((segment) => segment.number < number)
    this.#kept = this.#kept.filter((segment) => segment.number >= number)
    return dropped.map((segment) => segment.number)
  }
}
