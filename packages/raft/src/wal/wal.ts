// Driver: the log on disk. The class gathers batches while a write is under way, and calls the callbacks in
// order.
//
// Laws:
//   W1  The callbacks `done` are called in the order of the appends, and never before `append` has returned.
//       A `done` without an error means that this batch and all batches before it are durable.
//   W2  A batch is one record. After a crash the disk has the whole record or nothing of it.
//   W3  After the first failed write the log stops. All waiting and later appends get ERR_STORAGE_FAILED. The
//       log repeats no write, because nobody knows what the failed write left on the disk (F6).
//   W4  The durable mark never points beyond the durable part of the log (MK1).
//   W5  `done` must not throw.

import { assert, microtask } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { LogPosition, Membership, PersistBatch } from '../core/types.js'
import type { Identity, Recovered, WalOptions } from './log-types.js'
import { type Opened, openLog, removeSegments, wait } from './open-log.js'
import { Compaction } from './segment-removal.js'
import { storageFailed } from './log-errors.js'
import type { LogState } from './log-end-summary.js'
import { DurableMarkFile } from './durable-mark-file.js'
import { recordBytes } from './record-encoder.js'
import type { Segments } from './removable-segments.js'
import { growBytesOf, SegmentWriter, segmentBytesOf } from './segment-writer.js'
import {
  cannotFollow,
  lastIndexAfter,
  NOTHING,
  type Start,
  type RecordContent,
} from './log-record-in-memory.js'

/**
 * In bytes. Waiting batches are joined into one write up to this size. The callbacks of a larger write would
 * wait too long. A single larger batch is written alone.
 */
const WRITE_BYTES = 8 * 1024 * 1024

type Appended = (error?: LatchkeyError) => void

type Status =
  | { readonly type: 'open' }
  | { readonly type: 'closed' }
  | { readonly type: 'failed'; readonly error: LatchkeyError }

export class Wal {
  readonly #options: WalOptions
  readonly #writer: SegmentWriter
  readonly #mark: DurableMarkFile
  readonly #segments: Segments
  readonly #state: LogState
  readonly #compaction: Compaction
  #status: Status = { type: 'open' }
  /** #records has the records that wait for the next write, and #dones has their callbacks. */
  #records: RecordContent[] = []
  #dones: Appended[] = []
  #flying: Appended[] = []
  #busy = false
  /**
   * Set if the write that is under way drops all entries (see `restart`). The log then begins after this
   * index.
   */
  #restarting: number | undefined
  /** After the write of all waiting records, the log contains the entries from #first + 1 to #last. */
  #first: number
  #last: number
  #drained: (() => void)[] = []

  static async open(options: WalOptions): Promise<{ wal: Wal; recovered: Recovered }> {
    const opened = await openLog(options)
    const wal = new Wal(options, opened)
    await wal.#promise(opened.leftovers)
    return { wal, recovered: recoveredFrom(options, opened) }
  }

  private constructor(options: WalOptions, { origin, mark, markFile, slot, at, reading }: Opened) {
    const { fs, dir, clock } = options
    const failed = (error: Error) => this.#fail(error)
    this.#options = options
    this.#state = reading.replay.state
    this.#segments = reading.segments
    this.#first = this.#state.startIndex
    this.#last = this.#state.lastIndex
    const growBytes = growBytesOf(options)
    this.#writer = new SegmentWriter({ fs, dir, origin, growBytes, state: this.#state }, at)
    this.#mark = new DurableMarkFile({ file: markFile, clock, failed }, mark, slot)
    const startsAfter = (index: number) => this.#startsAfter(index)
    const ports = {
      fs,
      dir,
      mark: this.#mark,
      segments: this.#segments,
      state: this.#state,
      startsAfter,
      failed,
    }
    this.#compaction = new Compaction(ports, reading.startSegment)
  }

  get failed(): LatchkeyError | undefined {
    return this.#status.type === 'failed' ? this.#status.error : undefined
  }

  append(batch: PersistBatch, done: Appended): void {
    const { truncateFrom, entries, hardState, restartAfter } = batch
    const start = restartAfter && this.#start(restartAfter.position, restartAfter.membership)
    this.#enqueue({ truncateFrom, start, entries, hardState, identity: undefined }, done)
  }

  /** Drops all entries, so that the log begins after `position`. The term, the vote and the identity stay. */
  restart(position: LogPosition, membership: Membership, done: Appended): void {
    this.#enqueue({ ...NOTHING, start: this.#start(position, membership) }, done)
  }

  setCluster(clusterId: string, done: Appended): void {
    this.#enqueue({ ...NOTHING, identity: { ...this.#state.identity, clusterId } }, done)
  }

  /**
   * Deletes the segments that contain no entry after `index`. Law for the caller: the state machine has
   * durably applied the entries up to `index`. These entries are committed, so no truncation removes them
   * later (S15).
   */
  compact(index: number): void {
    if (this.#status.type === 'open') this.#compaction.upTo(Math.min(index, this.#state.lastIndex))
  }

  async close(): Promise<void> {
    const before = this.#status.type
    if (before === 'closed') return
    if (before === 'open') this.#status = { type: 'closed' }
    // `close` waits even after a failure, because a file descriptor must not be closed during a call.
    await this.#drain()
    await wait((done) => this.#compaction.whenIdle(done))
    await closeAll([(done) => this.#mark.close(done), (done) => this.#writer.close(done)])
    if (before === 'open' && this.failed !== undefined) throw this.failed
  }

  #start(position: LogPosition, membership: Membership): Start {
    return { position, membership: this.#options.membership.encode(membership) }
  }

  #enqueue(record: RecordContent, done: Appended): void {
    if (this.#status.type !== 'open') {
      const error =
        this.#status.type === 'failed'
          ? this.#status.error
          : new LatchkeyError('ERR_CLOSED', 'The log is closed.')
      return microtask(() => done(error))
    }
    const wrong = cannotFollow(record, this.#first, this.#last)
    assert(wrong === null, `the log was asked for what cannot follow: ${wrong}`)
    this.#last = lastIndexAfter(record, this.#last)
    if (record.start !== undefined) this.#first = record.start.position.index
    this.#records.push(record)
    this.#dones.push(done)
    if (!this.#busy) this.#next()
  }

  #next(): void {
    if (this.#records.length === 0) return this.#rest()
    this.#busy = true
    const head = this.#writer.segmentBytes < segmentBytesOf(this.#options) ? undefined : this.#state.head()
    if (head === undefined) this.#write()
    else this.#roll(head)
  }

  #write(): void {
    const records = this.#records
    const dones = this.#dones
    let size = 0
    let count = 0
    for (const record of records) {
      const bytes = recordBytes(record)
      if (count > 0 && size + bytes > WRITE_BYTES) break
      size += bytes
      count++
    }
    this.#records = records.splice(count)
    this.#dones = dones.splice(count)
    this.#flying = dones
    this.#writer.write(records, size, this.#written)
    for (const record of records) this.#note(record)
  }

  #note(record: RecordContent): void {
    if (record.truncateFrom !== undefined) this.#segments.truncateFrom(record.truncateFrom)
    if (record.start === undefined) return
    this.#compaction.restarting(this.#writer.number)
    this.#restarting = record.start.position.index
  }

  #startsAfter(index: number): void {
    if (this.#records.every((record) => record.start === undefined)) this.#first = index
  }

  readonly #written = (error?: Error): void => {
    if (error !== undefined) this.#fail(error)
    if (this.#status.type === 'failed') return this.#rest()
    this.#mark.advance(this.#writer.reach, this.#writer.checksum)
    if (this.#restarting !== undefined) this.#compaction.restarted(this.#restarting)
    this.#restarting = undefined
    const flying = this.#flying
    this.#flying = []
    // #busy is still true here, so a batch that a callback appends waits for the next write.
    for (const done of flying) done()
    this.#next()
  }

  #roll(head: RecordContent): void {
    this.#writer.roll(head, (error) => {
      if (error !== undefined) this.#fail(error)
      if (this.#status.type === 'failed') return this.#rest()
      this.#segments.add(this.#writer.number, this.#state.lastIndex)
      this.#mark.advance(this.#writer.reach, this.#writer.checksum)
      this.#mark.sync(() => {})
      this.#write()
    })
  }

  /**
   * Writes the beginning and the end of the recovered log to both slots of the durable mark. Then deletes
   * leftover segments from before the log's beginning.
   */
  async #promise(leftovers: readonly number[]): Promise<void> {
    this.#mark.advance(this.#writer.reach, this.#writer.checksum)
    const { fs, dir } = this.#options
    try {
      await wait((done) => this.#mark.syncBothSlots(done))
      await removeSegments(fs, dir, leftovers)
    } catch (error) {
      this.#fail(error as Error)
      await this.close()
      throw this.failed as LatchkeyError
    }
  }

  #fail(cause: Error): void {
    if (this.#status.type === 'failed') return
    const error = storageFailed(cause)
    this.#status = { type: 'failed', error }
    this.#mark.abandon(error)
    this.#compaction.abandon()
    const waiting = [...this.#flying, ...this.#dones]
    this.#flying = []
    this.#dones = []
    this.#records = []
    for (const done of waiting) done(error)
    this.#options.onFailed?.(error)
  }

  #drain(): Promise<void> {
    return new Promise((done) => {
      if (this.#busy) this.#drained.push(done)
      else done()
    })
  }

  #rest(): void {
    this.#busy = false
    const drained = this.#drained
    this.#drained = []
    for (const done of drained) done()
  }
}

/**
 * Errors of `close` are ignored, because the content of these files was already synced, or its sync has
 * already failed.
 */
async function closeAll(closes: readonly Parameters<typeof wait>[0][]): Promise<void> {
  for (const close of closes) await wait(close).catch(() => {})
}

function recoveredFrom(options: WalOptions, { reading }: Opened): Recovered {
  const { state, start, entries } = reading.replay
  const { position, membership } = start as Start
  const { hardState, identity } = state
  return {
    fresh: state.lastIndex === 0 && hardState.term === 0 && isUnmet(identity),
    identity,
    hardState,
    start: { position, membership: options.membership.decode(membership) },
    entries,
  }
}

const isUnmet = ({ clusterId }: Identity): boolean => clusterId === ''
