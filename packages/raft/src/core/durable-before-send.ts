// Rule: delays a message that promises something durable until the promised data is on this member's disk.
// All writes of one call of the core form one batch. The messages wait here until their batch is durable.
//
// Laws
//   - one call of the core gives out at most one batch, which contains hard state (term and vote), truncation
//     and entries. Batch ids increase by one.
//   - `durable` is the last index up to which the disk has the same entries as the log in memory. After a
//     truncation at index k, a batch that was written before the truncation proves nothing about the new
//     entries from k on (L5).
//   - if a batch is durable, all earlier batches are durable too. A late report about an earlier batch
//     changes nothing (L7).
//   - a message is sent when its batch is durable. If this member enters a new term before that, the message
//     is dropped.

import { assert } from '@latchkey/base'
import type { Log } from './log-in-memory.js'
import type { HardState, LogPosition, Membership, Message, PersistBatch } from './types.js'

interface Writing {
  readonly id: number
  /**
   * When this batch is durable, the log is durable up to this index. Undefined if the batch has no entries,
   * or if the log has begun again after a snapshot.
   */
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
  #hardBatch = 0
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
   * Called when a snapshot is durable. The snapshot has the effects of all entries up to `index`. So the log
   * counts as durable up to `index`, even while the disk still writes these entries.
   */
  noteSnapshot(index: number): void {
    this.durable = Math.max(this.durable, index)
  }

  /** Called when the log begins again after a durable snapshot, without any entry. */
  noteRestart(position: LogPosition, membership: Membership): void {
    this.#restart = { position, membership }
    this.#truncateFrom = undefined
    this.#entriesFrom = undefined
    this.durable = position.index
    for (const writing of this.#writing) writing.coversTo = undefined
  }

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

  /** Keeps `message` until the present term and vote are durable. */
  promiseHardState(message: Message): void {
    this.#promised.push({ batch: this.#hardDirty ? this.#nextId : this.#hardBatch, message })
  }

  /**
   * Keeps `message` until all batches that were given out before are durable. After a snapshot the log can
   * begin again. If no batch has this new beginning yet, keeps `message` until the next batch is durable.
   */
  promiseAll(message: Message): void {
    this.#promised.push({ batch: this.#restart !== undefined ? this.#nextId : this.lastBatch, message })
  }

  /** Called when batch `id` is durable. Returns false if this batch or a later batch was reported before. */
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

  /** Removes and returns the messages whose batch is durable. Messages of an older term are dropped. */
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
