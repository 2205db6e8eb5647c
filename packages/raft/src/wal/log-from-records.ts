// Rule: builds the log in memory from its records, in order.

import type { Entry } from '../core/types.js'
import type { RecordRead } from './record-decoder.js'
import { HEAD } from './disk-format.js'
import { LogState } from './log-state.js'
import { cannotFollow, lastIndexAfter, type Start, type Turn } from './log-record.js'

export class Replay {
  readonly state = new LogState()
  start: Start | undefined
  entries: Entry[] = []

  /**
   * Applies the record to the log in memory. Returns the reason if the record does not fit the records before
   * it. `begins` is true for the first record of a segment, and `first` is true while the log's first segment
   * is read.
   */
  take({ kind, turn, lastIndex }: RecordRead, first: boolean, begins: boolean): string | null {
    if ((kind === HEAD) !== begins)
      return begins ? 'a segment that begins without a head' : 'a head inside a segment'
    const wrong = begins
      ? this.#wrongHead(turn, first)
      : cannotFollow(turn, this.state.startIndex, this.state.lastIndex)
    if (wrong !== null) return wrong
    if (lastIndexAfter(turn, this.state.lastIndex) !== lastIndex)
      return 'a record that does not agree with the log before it'
    if (begins && !first) return null
    this.#apply(turn)
    return null
  }

  #wrongHead({ start, hardState, identity }: Turn, first: boolean): string | null {
    if (start === undefined || hardState === undefined || identity === undefined)
      return 'a head that lacks a part'
    if (!first && start.position.index !== this.state.lastIndex)
      return 'a head that does not agree with the log before it'
    return null
  }

  #apply(turn: Turn): void {
    if (turn.voidFrom !== undefined) this.entries.length = turn.voidFrom - 1 - this.state.startIndex
    if (turn.start !== undefined) {
      this.start = turn.start
      this.entries = []
    }
    for (const entry of turn.entries) this.entries.push(entry)
    this.state.apply(turn)
    // LogState forgets the last entry's term at a truncation (LS1). Here all entries are in memory, so the
    // last entry is always known.
    const last = this.entries.at(-1) ?? this.start?.position
    if (last !== undefined) this.state.last = { index: last.index, term: last.term, time: last.time }
  }
}
