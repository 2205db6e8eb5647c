// Driver: a member's log on the simulated disk. One write and one sync a turn; batches that arrive meanwhile
// share the next turn.
//
// Law: `durable` of a batch is told after the sync that covers it and all before it returned. A failed sync
// is never repeated.

import type { Entry, HardState, LogPosition, Membership, PersistBatch } from '@latchkey/raft/core'
import type { DiskHandle } from '../world/disk-handle.js'
import { encodeMark, MARK_SIZE, RecordWriter } from './journal-format.js'

export const JOURNAL = 'journal'
const FRESH = 'journal.tmp'
export const MARK = 'mark'

export interface JournalState {
  readonly generation: number
  readonly chain: number
  readonly hard: HardState
  readonly base: LogPosition
  readonly membership: Membership
  readonly entries: readonly Entry[]
  /** What is on disk is not this: the next turn begins a new file. */
  readonly restart?: boolean
}

export interface JournalEvents {
  durable(batch: PersistBatch): void
  failed(): void
}

export class EventLog {
  readonly #disk: DiskHandle
  readonly #events: JournalEvents
  #writer: RecordWriter
  #generation: number
  #hard: HardState
  #base: LogPosition
  #membership: Membership
  #entries: Entry[]
  #waiting: PersistBatch[] = []
  #compaction: { readonly position: LogPosition; readonly membership: Membership } | undefined
  #busy = false
  #marks = 0
  #anew: boolean

  constructor(disk: DiskHandle, state: JournalState, events: JournalEvents) {
    this.#disk = disk
    this.#events = events
    this.#writer = new RecordWriter(state.chain)
    this.#generation = state.generation
    this.#hard = state.hard
    this.#base = state.base
    this.#membership = state.membership
    this.#entries = [...state.entries]
    // The first turn of a new disk makes the name durable too.
    this.#anew = state.generation === 0 || state.restart === true
  }

  get idle(): boolean {
    return !this.#busy
  }

  persist(batch: PersistBatch): void {
    this.#waiting.push(batch)
    if (!this.#busy) this.#turn()
  }

  /** Drops entries up to a position that a durable snapshot covers. */
  compact(position: LogPosition, membership: Membership): void {
    this.#compaction = { position, membership }
    if (!this.#busy) this.#turn()
  }

  #turn(): void {
    const batches = this.#waiting.splice(0)
    const compaction = this.#compaction
    this.#compaction = undefined
    if (batches.length === 0 && compaction === undefined) return
    this.#busy = true
    for (const batch of batches) this.#apply(batch)
    const anew =
      this.#anew || compaction !== undefined || batches.some((batch) => batch.restartAfter !== undefined)
    this.#anew = false
    if (compaction !== undefined) this.#drop(compaction.position, compaction.membership)
    if (anew) this.#rewrite(batches)
    else this.#extend(batches)
  }

  #extend(batches: readonly PersistBatch[]): void {
    for (const { truncateFrom, entries, hardState } of batches) {
      if (truncateFrom !== undefined) this.#writer.truncate(truncateFrom)
      for (const entry of entries) this.#writer.entry(entry)
      if (hardState !== undefined) this.#writer.hard(hardState)
    }
    this.#disk.append(JOURNAL, this.#writer.take())
    this.#disk.sync(JOURNAL, (ok) => this.#done(ok, batches))
  }

  /**
   * A new file beside the old one, synced before it takes its name, the name synced before anyone is told.
   */
  #rewrite(batches: readonly PersistBatch[]): void {
    this.#writer = new RecordWriter(0)
    this.#writer.base(++this.#generation, this.#base, this.#membership)
    this.#writer.hard(this.#hard)
    for (const entry of this.#entries) this.#writer.entry(entry)
    this.#disk.remove(FRESH)
    this.#disk.append(FRESH, this.#writer.take())
    this.#disk.sync(FRESH, (ok) => {
      if (!ok) return this.#done(false, batches)
      this.#disk.rename(FRESH, JOURNAL)
      this.#disk.syncFolder((named) => this.#done(named, batches))
    })
  }

  #done(ok: boolean, batches: readonly PersistBatch[]): void {
    if (!ok) return this.#events.failed()
    this.#busy = false
    this.#mark()
    for (const batch of batches) this.#events.durable(batch)
    if (!this.#busy) this.#turn()
  }

  /** How far the journal must reach; it never runs ahead of a sync that returned. */
  #mark(): void {
    const slot = this.#marks++ % 2
    const mark = { generation: this.#generation, length: this.#disk.length(JOURNAL) }
    this.#disk.write(MARK, slot * MARK_SIZE, encodeMark(mark))
    if (this.#marks % 8 === 0) this.#disk.sync(MARK, () => {})
  }

  #apply(batch: PersistBatch): void {
    if (batch.restartAfter !== undefined) {
      this.#base = batch.restartAfter.position
      this.#membership = batch.restartAfter.membership
      this.#entries = []
    }
    if (batch.truncateFrom !== undefined) {
      this.#entries.length = Math.max(
        0,
        Math.min(this.#entries.length, batch.truncateFrom - this.#base.index - 1),
      )
    }
    for (const entry of batch.entries) this.#entries.push(entry)
    if (batch.hardState !== undefined) this.#hard = batch.hardState
  }

  #drop(position: LogPosition, membership: Membership): void {
    if (position.index <= this.#base.index) return
    this.#entries = this.#entries.slice(position.index - this.#base.index)
    this.#base = position
    this.#membership = membership
  }
}
