// Rule: disk before word. What must become durable is gathered into one batch a call; what promises it waits here until then.
//
// Laws
//   - one batch a call at most, with hard state, truncation and entries together; ids grow by one
//   - `durable` is the end of that prefix of the log in memory which the disk holds too. A truncation at k voids what every
//     batch under way would have made durable from k on: a batch that returns afterwards proves nothing about it (L5)
//   - a completion stands for all batches before it; an older one that comes later says nothing new (L7)
//   - a promise leaves when its batch is durable, and only if it is still of this term

import { assert } from '@latchkey/base'
import type { Log } from './log.js'
import type { HardState, LogPosition, Membership, Message, PersistBatch } from './types.js'

interface Writing {
  readonly id: number
  /** The log is durable up to here once the batch is; undefined when it does not say. */
  coversTo: number | undefined
}

interface Promised {
  readonly batch: number
  readonly message: Message
}

interface Restart {
  readonly position: LogPosition
  readonly membership: Membership
}

const NONE: readonly Message[] = []

export class Disk {
  durable: number
  #nextId = 1
  #persisted = 0
  #writing: Writing[] = []
  #promised: Promised[] = []
  /** The last batch that carried the hard state. */
  #hardBatch = 0
  // What the batch of this call will hold.
  #hardDirty = false
  #truncateFrom: number | undefined
  #entriesFrom: number | undefined
  #restart: Restart | undefined

  constructor(durable: number) {
    this.durable = durable
  }

  get lastBatch(): number {
    return this.#nextId - 1
  }

  /** Term and vote as they stand are on disk. */
  get hardStateDurable(): boolean {
    return !this.#hardDirty && this.#persisted >= this.#hardBatch
  }

  get promises(): number {
    return this.#promised.length
  }

  noteHardState(): void {
    this.#hardDirty = true
  }

  noteAppend(from: number): void {
    if (this.#entriesFrom === undefined || from < this.#entriesFrom) this.#entriesFrom = from
  }

  noteTruncate(from: number): void {
    if (this.#truncateFrom === undefined || from < this.#truncateFrom) this.#truncateFrom = from
    if (this.durable >= from) this.durable = from - 1
    for (const writing of this.#writing) {
      if (writing.coversTo !== undefined && writing.coversTo >= from) writing.coversTo = from - 1
    }
  }

  /**
   * The log up to `index` may still be on its way to the disk, but a durable snapshot stands for it: a member that finds its
   * machine ahead of its log restarts the log there.
   */
  noteSnapshot(index: number): void {
    this.durable = Math.max(this.durable, index)
  }

  /** The snapshot is durable already, and the log of before counts for nothing. */
  noteRestart(position: LogPosition, membership: Membership): void {
    this.#restart = { position, membership }
    this.#truncateFrom = undefined
    this.#entriesFrom = undefined
    this.durable = position.index
    for (const writing of this.#writing) writing.coversTo = undefined
  }

  /** Undefined when nothing of this call has to be durable. */
  flush(log: Log, { term, vote }: HardState): PersistBatch | undefined {
    const from = this.#entriesFrom
    const hasEntries = from !== undefined && from <= log.lastIndex
    if (!this.#hardDirty && !hasEntries && this.#truncateFrom === undefined && this.#restart === undefined) {
      return undefined
    }
    const id = this.#nextId++
    const batch: PersistBatch = {
      id,
      hardState: this.#hardDirty ? { term, vote } : undefined,
      truncateFrom: this.#truncateFrom,
      entries: hasEntries ? log.slice(from, log.lastIndex) : [],
      restartAfter: this.#restart,
    }
    if (this.#hardDirty) this.#hardBatch = id
    this.#writing.push({ id, coversTo: hasEntries ? log.lastIndex : undefined })
    this.#hardDirty = false
    this.#truncateFrom = undefined
    this.#entriesFrom = undefined
    this.#restart = undefined
    return batch
  }

  /** Leaves once term and vote as of the end of this call are durable. */
  promiseHardState(message: Message): void {
    this.#promised.push({ batch: this.#hardDirty ? this.#nextId : this.#hardBatch, message })
  }

  /** Leaves once all that is written as of the end of this call is durable. */
  promiseAll(message: Message): void {
    this.#promised.push({ batch: this.#restart !== undefined ? this.#nextId : this.lastBatch, message })
  }

  /** True when this is news. */
  persisted(id: number): boolean {
    assert(id < this.#nextId, 'a batch was persisted that was never given out')
    if (id <= this.#persisted) return false
    this.#persisted = id
    while (this.#writing[0] !== undefined && this.#writing[0].id <= id) {
      const { coversTo } = this.#writing.shift() as Writing
      if (coversTo !== undefined && coversTo > this.durable) this.durable = coversTo
    }
    return true
  }

  /** Promises whose batch is durable; those of an older term are dropped. */
  kept(term: number): readonly Message[] {
    if (this.#promised.length === 0) return NONE
    const kept: Message[] = []
    const waiting: Promised[] = []
    for (const promised of this.#promised) {
      if (promised.message.term < term) continue
      if (promised.batch <= this.#persisted) kept.push(promised.message)
      else waiting.push(promised)
    }
    this.#promised = waiting
    return kept
  }
}
