// Driver: deletes segments from the beginning of the log when their entries are not needed any more.
//
// Law: before a segment file is deleted, both slots of the durable mark durably name the log's new first
// segment. Without this law, recovery would have to accept that segments are missing at the log's beginning.
// So recovery would not notice that the disk has lost a segment.

import { type Done, type FileSystem, joinPath } from './file-system-interface.js'
import { segmentName } from './disk-format.js'
import type { LogState } from './log-end-summary.js'
import type { DurableMarkFile } from './durable-mark-file.js'
import type { Segments } from './removable-segments.js'

interface CompactionPorts {
  readonly fs: FileSystem
  readonly dir: string
  readonly mark: DurableMarkFile
  readonly segments: Segments
  readonly state: LogState
  startsAfter(index: number): void
  failed(error: Error): void
}

export class Compaction {
  readonly #ports: CompactionPorts
  /**
   * The number of the segment in which the log begins. Usually this is the first segment. But a record in a
   * later segment can drop all earlier entries (`restartAfter` in core/types.ts). Then the log begins in that
   * later segment.
   */
  #startSegment: number
  #wanted = 0
  #busy = false
  #abandoned = false
  #idle: Done[] = []

  constructor(ports: CompactionPorts, startSegment: number) {
    this.#ports = ports
    this.#startSegment = startSegment
  }

  /**
   * Called when a record that drops all earlier entries (`restartAfter` in core/types.ts) is being written to
   * segment `number`.
   */
  restarting(number: number): void {
    this.#startSegment = number
  }

  /**
   * Called when a record that drops all earlier entries is durable. The log now begins after `index`. Earlier
   * arguments of `upTo` do not count any more.
   */
  restarted(index: number): void {
    this.#wanted = index
  }

  /** Deletes the segments that have only entries up to `index`. */
  upTo(index: number): void {
    this.#wanted = Math.max(this.#wanted, index)
    this.#next()
  }

  /** Called when the log has failed. No more segments are deleted. */
  abandon(): void {
    this.#abandoned = true
    this.#rest()
  }

  whenIdle(done: Done): void {
    if (this.#busy && !this.#abandoned) this.#idle.push(done)
    else done()
  }

  #next(): void {
    if (this.#busy || this.#abandoned) return
    const { segments, mark } = this.#ports
    const first = segments.newFirst(this.#wanted)
    if (first.number === segments.first.number) return this.#rest()
    this.#busy = true
    if (first.number > this.#startSegment) {
      this.#startSegment = first.number
      this.#ports.state.startAt(first.headIndex)
      this.#ports.startsAfter(first.headIndex)
    }
    const names = segments.dropBefore(first.number).map(segmentName)
    mark.keepFrom(first.number)
    mark.syncBothSlots((error) => (error === undefined ? this.#remove(names) : this.#fail(error)))
  }

  #remove(names: readonly string[]): void {
    const { fs, dir } = this.#ports
    if (this.#abandoned) return
    const [name, ...rest] = names
    const done: Done = (error) => {
      if (error !== undefined) return this.#fail(error)
      if (name !== undefined) return this.#remove(rest)
      this.#busy = false
      this.#next()
    }
    if (name === undefined) fs.syncDir(dir, done)
    else fs.remove(joinPath(dir, name), done)
  }

  #rest(): void {
    const idle = this.#idle
    this.#idle = []
    for (const done of idle) done()
  }

  #fail(error: Error): void {
    this.abandon()
    this.#ports.failed(error)
  }
}
