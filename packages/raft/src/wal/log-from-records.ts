// Rule: builds the log in memory from its records, in order.

import type { Entry } from '../core/types.js'
import type { RecordRead } from './record-decoder.js'
import { HEAD } from './disk-format.js'
import { LogState } from './log-end-summary.js'
import { cannotFollow, lastIndexAfter, type Start, type RecordContent } from './log-record-in-memory.js'

export class Replay {
  readonly state = new LogState()
  start: Start | undefined
  entries: Entry[] = []

  /**
   * Adds the record to the log in memory. If the record cannot follow the earlier records, returns the
   * reason, otherwise null. `begins` is true for the first record of a segment. `first` is true while the
   * log's first segment is read.
   */
  take({ kind, content, lastIndex }: RecordRead, first: boolean, begins: boolean): string | null {
    if ((kind === HEAD) !== begins)
      return begins ? 'a segment that begins without a head' : 'a head inside a segment'
    const wrong = begins
      ? this.#wrongHead(content, first)
      : cannotFollow(content, this.state.startIndex, this.state.lastIndex)
    if (wrong !== null) return wrong
    if (lastIndexAfter(content, this.state.lastIndex) !== lastIndex)
      return 'a record that does not agree with the log before it'
    if (begins && !first) return null
    this.#apply(content)
    return null
  }

  #wrongHead({ start, hardState, identity }: RecordContent, first: boolean): string | null {
    if (start === undefined || hardState === undefined || identity === undefined)
      return 'a head that lacks a part'
    if (!first && start.position.index !== this.state.lastIndex)
      return 'a head that does not agree with the log before it'
    return null
  }

  #apply(content: RecordContent): void {
    if (content.truncateFrom !== undefined)
      this.entries.length = content.truncateFrom - 1 - this.state.startIndex
    if (content.start !== undefined) {
      this.start = content.start
      this.entries = []
    }
    for (const entry of content.entries) this.entries.push(entry)
    this.state.apply(content)
    // At a truncation LogState forgets the position of the last entry (LS1). Here all entries are in memory,
    // so the position is set again.
    const last = this.entries.at(-1) ?? this.start?.position
    if (last !== undefined) this.state.last = { index: last.index, term: last.term, time: last.time }
  }
}
