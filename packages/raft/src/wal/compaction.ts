// Driver: removes whole segments from the log's begin, one job at a time.
//
// Law: the mark says, durably and in both slots, with which segment the log begins, before a file goes. So a file that is
// missing is never taken for one that was removed, and a file that a crash left over is known as such.

import { type Done, type FileSystem, joinPath } from './file-system.js'
import { segmentName } from './disk-format.js'
import type { LogState } from './log-state.js'
import type { DurableMark } from './durable-mark.js'
import type { Segments } from './segments.js'

export interface CompactionPorts {
  readonly fs: FileSystem
  readonly dir: string
  readonly mark: DurableMark
  readonly segments: Segments
  readonly state: LogState
  /** The log's first entry is behind `index` from now on. */
  startsAfter(index: number): void
  failed(error: Error): void
}

export class Compaction {
  readonly #ports: CompactionPorts
  /** The segment in which the log's start is said. */
  #startSegment: number
  #wanted = 0
  #busy = false
  #abandoned = false
  #idle: Done[] = []

  constructor(ports: CompactionPorts, startSegment: number) {
    this.#ports = ports
    this.#startSegment = startSegment
  }

  /** A restart of the log is being written to segment `number`. */
  restarting(number: number): void {
    this.#startSegment = number
  }

  /** It is durable. Only now is nothing before it needed; and what was wanted before was said of another log. */
  restarted(index: number): void {
    this.#wanted = index
  }

  /** Entries up to `index` are needed no more. */
  upTo(index: number): void {
    this.#wanted = Math.max(this.#wanted, index)
    this.#next()
  }

  /** The log failed: nothing more is removed. */
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
    mark.settle((error) => (error === undefined ? this.#remove(names) : this.#fail(error)))
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
