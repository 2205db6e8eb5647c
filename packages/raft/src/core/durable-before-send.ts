// Rule: a message that promises something durable is sent only after the promised data is on the disk. Each
// call of the core gathers its writes into one batch, and the messages wait here for that batch.
//
// Laws
//   - a call gives out at most one batch, with hard state, truncation and entries together. Batch
//     ids grow by one
//   - `durable` is the last index of the log in memory up to which the disk holds the same entries. A
//     truncation at k makes all entries from k on void in the batches that are being written. When such a
//     batch completes, it proves nothing about the new entries from k on (L5)
//   - the completion of a batch completes all batches before it. An older completion that arrives later
//     changes nothing (L7)
//   - a message is sent when its batch is durable, and only if the message is still of the current term

import { assert } from '@latchkey/base'
import type { Log } from './log-in-memory.js'
import type { HardState, LogPosition, Membership, Message, PersistBatch } from './types.js'

interface Writing {
  readonly id: number
  /**
   * When this batch is durable, the log is durable up to this index. Undefined if the batch holds no entry
   * that is still valid.
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
  /** The id of the last batch that carried the hard state. */
  #hardBatch = 0
  // This field and the fields after it say what the batch of this call will hold.
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

  /** True when the current term and vote are on disk. */
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
   * A durable snapshot has the effects of the log up to `index`. So the log counts as durable up to `index`,
   * even while the disk still writes the entries. A member whose state machine is ahead of its log restarts
   * its log at that snapshot.
   */
  noteSnapshot(index: number): void {
    this.durable = Math.max(this.durable, index)
  }

  /**
   * The log restarts after a snapshot that is already durable. The entries before the snapshot are no longer
   * part of the log.
   */
  noteRestart(position: LogPosition, membership: Membership): void {
    this.#restart = { position, membership }
    this.#truncateFrom = undefined
    this.#entriesFrom = undefined
    this.durable = position.index
    for (const writing of this.#writing) writing.coversTo = undefined
  }

  /** Returns the batch of this call, or undefined if this call has nothing to write. */
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

  /** Sends `message` once the term and vote at the end of this call are durable. */
  promiseHardState(message: Message): void {
    this.#promised.push({ batch: this.#hardDirty ? this.#nextId : this.#hardBatch, message })
  }

  /** Sends `message` once everything that was written up to the end of this call is durable. */
  promiseAll(message: Message): void {
    this.#promised.push({ batch: this.#restart !== undefined ? this.#nextId : this.lastBatch, message })
  }

  /** Notes that batch `id` is durable. Returns false if that batch or a later one has completed before. */
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

  /** Returns and removes the messages whose batch is durable. Messages of an older term are dropped. */
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
