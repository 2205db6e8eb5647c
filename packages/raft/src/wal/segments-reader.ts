// Rule: reads the segments of a log in order, at a member's start, and rebuilds the log in memory. The class
// also reports at which place and why the reading stopped, and whether the log has all bytes that the durable
// mark calls durable. From these facts recovery-table.ts decides what is done with the log.

import { asBuffer, assert } from '@latchkey/base'
import { readRecord } from './record-decoder.js'
import { PREAMBLE_BYTES, segmentName } from './disk-format.js'
import type { DurableMark } from './durable-mark-slot.js'
import { type Preamble, readPreamble } from './segment-preamble.js'
import type { Promised, Stop } from './recovery-table.js'
import { Replay } from './log-from-records.js'
import { Segments } from './removable-segments.js'

interface Stopped {
  readonly type: Stop
  readonly file: string
  /** In bytes, where in `file` the reading ended. */
  readonly offset: number
  readonly reason: string
}

/** The last segment that has valid records. New records are appended there. */
export interface Tail {
  readonly number: number
  readonly base: number
  readonly buffer: Buffer
  /** In bytes, the offset in the file after the last valid record. */
  readonly end: number
}

export class Reading {
  readonly replay = new Replay()
  readonly segments = new Segments()
  /**
   * The number of the segment in which the log begins. Usually this is the first segment. But a record in a
   * later segment can drop all earlier entries (`restartAfter` in core/types.ts). Then the log begins in that
   * later segment.
   */
  startSegment = 0
  tail: Tail | undefined
  checksum = 0
  stopped: Stopped | undefined
  readonly #mark: DurableMark
  #fed = 0
  #agreed = false

  constructor(mark: DurableMark) {
    this.#mark = mark
  }

  /** In bytes from the log's beginning: all records before this offset are valid. */
  get reach(): number {
    return this.tail === undefined ? 0 : this.tail.base + this.tail.end
  }

  promised(): Promised {
    if (this.#mark.reach === 0 && this.#fed <= 1) return 'none'
    return this.#agreed ? 'kept' : 'broken'
  }

  /** Returns false if the reading must end with this segment. */
  feed(number: number, bytes: Uint8Array): boolean {
    assert(this.stopped === undefined, 'nothing is read behind the place where reading ended')
    this.#fed++
    const buffer = asBuffer(bytes)
    const read = readPreamble(buffer)
    const name = segmentName(number)
    if (read.type === 'newer') return this.#stop('newer', name, 8, `format version ${read.version}`)
    if (read.type === 'damaged') return this.#stop('damaged', name, 0, 'a segment without its first bytes')
    const wrong = this.#cannotContinue(number, read.preamble)
    if (wrong !== undefined) return this.#stop(wrong.type, name, 0, wrong.reason)
    return this.#records(number, read.preamble.base, buffer, read.checksum)
  }

  #cannotContinue(number: number, preamble: Preamble): { type: Stop; reason: string } | undefined {
    const { group, owner, first } = this.#mark
    if (preamble.group !== group || preamble.owner !== owner) {
      return { type: 'foreign', reason: 'a segment of another group or member' }
    }
    const expected = this.tail === undefined ? first : this.tail.number + 1
    if (number !== expected)
      return { type: 'missing', reason: `${segmentName(expected)} is missing before it` }
    if (preamble.number !== number)
      return { type: 'foreign', reason: `segment ${preamble.number} under another's name` }
    if (this.tail === undefined) return undefined
    if (preamble.base === this.reach && preamble.previous === this.checksum) return undefined
    return { type: 'damaged', reason: 'a segment that does not continue the one before' }
  }

  #records(number: number, base: number, buffer: Buffer, preambleChecksum: number): boolean {
    const first = this.tail === undefined
    const expected = { group: this.#mark.group, offset: base + PREAMBLE_BYTES, previous: preambleChecksum }
    for (let at = PREAMBLE_BYTES; ; ) {
      const begins = at === PREAMBLE_BYTES
      const read = readRecord(buffer, at, expected)
      if (read.type === 'end' && !begins) return true
      if (read.type !== 'record')
        return this.#damaged(number, at, read.type === 'end' ? 'no head' : read.reason)
      const wrong = this.replay.take(read, first, begins)
      if (wrong !== null) return this.#damaged(number, at, wrong)
      this.#note(
        number,
        read.content.truncateFrom,
        (first && begins) || (!begins && read.content.start !== undefined),
        begins,
      )
      at = read.end
      expected.offset = base + at
      expected.previous = read.checksum
      this.checksum = read.checksum
      this.tail = { number, base, buffer, end: at }
      if (this.#disagrees())
        return this.#damaged(number, at, 'a log that is not the one the mark was made for')
    }
  }

  #note(number: number, truncateFrom: number | undefined, starts: boolean, begins: boolean): void {
    if (begins) this.segments.add(number, this.replay.state.lastIndex)
    if (truncateFrom !== undefined) this.segments.truncateFrom(truncateFrom)
    if (starts) this.startSegment = number
  }

  #disagrees(): boolean {
    if (this.reach !== this.#mark.reach) return false
    this.#agreed = this.checksum === this.#mark.checksum
    return !this.#agreed
  }

  #damaged(number: number, at: number, reason: string): false {
    return this.#stop('damaged', segmentName(number), at, reason)
  }

  #stop(type: Stop, file: string, offset: number, reason: string): false {
    this.stopped = { type, file, offset, reason }
    return false
  }
}
