// Driver: opens the log at a member's start. The function reads all files, looks up its next steps in
// recovery-table.ts, and carries them out. All entries that `openLog` returns are durable.
//
// Law: the records after the durable mark are written again and synced before `openLog` returns them. The
// durable mark is a small file that says up to where the log is durable. Without this law: a sync fails, and
// the member restarts. The member reads the unsynced records from the page cache, where the kernel counts
// them as written. So no later sync writes them. The member acknowledges these records, the power fails, and
// the records are lost.
//
// The mark names the log's first segment. The mark may also be in the page cache only. So older segments are
// removed only after the mark was synced again (`removeSegments`).

import { assert, type Logger, silentLogger } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'
import type { GroupId } from '../core/types.js'
import type { Identity, WalOptions } from './log-types.js'
import { type Finding, refusal, storageUnreadable, wrongMember } from './log-errors.js'
import { type Done, type File, type FileSystem, joinPath } from './file-system-interface.js'
import {
  MARK_DRAFT_NAME,
  MARK_FILE_BYTES,
  MARK_NAME,
  type LogOwner,
  ownerNumber,
  segmentName,
  segmentNumber,
} from './disk-format.js'
import { type DurableMark, type MarkRead, putMark, readMark } from './durable-mark-slot.js'
import { Reading, type Tail } from './segments-reader.js'
import { decide, type Facts } from './recovery-table.js'
import { createSegment, growBytesOf, type Position } from './segment-writer.js'
import type { RecordContent } from './log-record-in-memory.js'

export interface Opened {
  readonly origin: LogOwner
  readonly mark: DurableMark
  readonly markFile: File
  /** The number of the mark's slot to write next. */
  readonly slot: 0 | 1
  readonly at: Position
  /**
   * The segments before the log's first segment, whose removal a crash interrupted. These segments are
   * removed once the durable mark (durable-mark-file.ts) was synced.
   */
  readonly leftovers: readonly number[]
  readonly reading: Reading
}

export const wait = (call: (done: Done) => void): Promise<void> =>
  new Promise((done, fail) => call((error) => (error === undefined ? done() : fail(error))))

const openFile = (fs: FileSystem, path: string, how: 'create' | 'existing'): Promise<File> =>
  new Promise((done, fail) =>
    fs.open(path, how, (error, file) => (file === undefined ? fail(error) : done(file))),
  )

async function orClosed<T>(file: File, steps: () => Promise<T>): Promise<T> {
  try {
    return await steps()
  } catch (error) {
    await wait((done) => file.close(done)).catch(() => {})
    throw error
  }
}

export async function openLog(options: WalOptions): Promise<Opened> {
  try {
    await options.fs.makeDir(options.dir)
    return await new Boot(options).run()
  } catch (error) {
    throw isLatchkeyError(error) ? error : storageUnreadable(error)
  }
}

class Boot {
  readonly #options: WalOptions
  readonly #fs: FileSystem
  readonly #logger: Logger
  readonly #group: GroupId

  constructor(options: WalOptions) {
    this.#options = options
    this.#fs = options.fs
    this.#logger = options.logger ?? silentLogger
    this.#group = options.group ?? 0
  }

  async run(): Promise<Opened> {
    const read = readMark(await this.#fs.read(this.#path(MARK_NAME)))
    const numbers = (await this.#fs.list(this.#options.dir))
      .map(segmentNumber)
      .filter((one) => one !== undefined)
    if (read.type === 'mark' && read.mark.group === this.#group)
      return this.#with(read.mark, read.slot, numbers)
    return this.#without(read, numbers)
  }

  /**
   * Called if the durable mark is missing, unreadable, of a later version, or of another group. Creates a new
   * log if there is neither a mark nor a segment, and throws in all other cases.
   */
  async #without(read: MarkRead, numbers: readonly number[]): Promise<Opened> {
    const log = numbers.length === 0 ? 'none' : 'some'
    const mark = read.type === 'mark' ? 'foreign' : read.type
    const verdict = decide({ mark, log, stop: 'whole', place: 'last', promised: 'none' })
    if (verdict === 'create') return this.#create([])
    assert(verdict !== 'open' && verdict !== 'cut', 'nothing is opened without its mark')
    throw refusal(verdict, { file: MARK_NAME, offset: 0, reason: whyWithout(read, numbers.length) })
  }

  async #with(mark: DurableMark, slot: 0 | 1, all: readonly number[]): Promise<Opened> {
    const numbers = all.filter((number) => number >= mark.first)
    const reading = new Reading(mark)
    const place = await this.#read(reading, numbers)
    const facts: Facts = {
      mark: 'readable',
      log: numbers.length === 0 ? 'none' : 'some',
      stop: reading.stopped?.type ?? 'whole',
      place,
      promised: reading.promised(),
    }
    const verdict = decide(facts)
    if (verdict === 'create') return this.#create(numbers)
    if (verdict !== 'open' && verdict !== 'cut') throw refusal(verdict, finding(reading, mark))
    this.#check(reading.replay.state.identity)
    if (verdict === 'cut') this.#tellCut(reading)
    return this.#goOn(mark, slot, reading, all)
  }

  async #read(reading: Reading, numbers: readonly number[]): Promise<Facts['place']> {
    for (const number of numbers) {
      const bytes = await this.#fs.read(this.#path(segmentName(number)))
      assert(bytes !== undefined, `${segmentName(number)} went away while it was read`)
      if (!reading.feed(number, bytes)) return number === numbers.at(-1) ? 'last' : 'earlier'
    }
    return 'last'
  }

  #check({ memberId }: Identity): void {
    if (memberId === this.#options.memberId) return
    throw wrongMember(this.#options.dir, `member ${memberId}`, `member ${this.#options.memberId}`)
  }

  #tellCut({ stopped, reach, tail }: Reading): void {
    const { file, offset, reason } = stopped as NonNullable<Reading['stopped']>
    this.#logger.warn('the log had a torn tail, which was never promised to anybody; it is cut', {
      file,
      offset,
      reason,
      reach,
      last: segmentName((tail as Tail).number),
    })
  }

  /**
   * Removes everything after the last valid record, writes the records after the durable mark again, and
   * syncs the file and the folder.
   */
  async #goOn(mark: DurableMark, slot: 0 | 1, reading: Reading, all: readonly number[]): Promise<Opened> {
    const tail = reading.tail as Tail
    await this.#removeAll(all.filter((number) => number > tail.number))
    const file = await openFile(this.#fs, this.#path(segmentName(tail.number)), 'existing')
    return orClosed(file, async () => {
      const cut = reading.stopped !== undefined && reading.stopped.file === segmentName(tail.number)
      if (cut) await wait((done) => file.truncate(tail.end, done))
      const from = Math.min(tail.end, Math.max(0, mark.reach - tail.base))
      await wait((done) => file.write(from, tail.buffer.subarray(from, tail.end), done))
      await wait((done) => file.sync(done))
      await wait((done) => this.#fs.syncDir(this.#options.dir, done))
      const length = cut ? tail.end : tail.buffer.length
      const { number, base, end } = tail
      const at = { file, number, base, end, length, checksum: reading.checksum }
      const leftovers = all.filter((number) => number < mark.first)
      return this.#opened(mark, slot, at, reading, leftovers)
    })
  }

  /**
   * Creates first the durable mark, then the first segment. So a log with segments and without a mark must
   * have lost its mark.
   */
  async #create(leftovers: readonly number[]): Promise<Opened> {
    const { memberId, incarnation, membership } = this.#options
    const origin = { group: this.#group, owner: ownerNumber(memberId, incarnation) }
    const mark = { ...origin, sequence: 1, first: 1, reach: 0, checksum: 0 }
    await this.#removeAll(leftovers)
    await this.#createMark(mark)
    const empty = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }
    const head: RecordContent = {
      truncateFrom: undefined,
      start: { position: { index: 0, term: 0, time: 0 }, membership: membership.encode(empty) },
      entries: [],
      hardState: { term: 0, vote: undefined },
      identity: { clusterId: '', memberId, incarnation },
    }
    const ports = {
      fs: this.#fs,
      dir: this.#options.dir,
      origin,
      growBytes: growBytesOf(this.#options),
    }
    const segment = { number: 1, base: 0, previous: origin.owner }
    const at = await new Promise<Position>((done, fail) =>
      createSegment(ports, segment, head, (error, at) => (at === undefined ? fail(error) : done(at))),
    )
    return orClosed(at.file, async () => this.#opened(mark, 1, at, await this.#readBack(mark), []))
  }

  async #readBack(mark: DurableMark): Promise<Reading> {
    const reading = new Reading(mark)
    await this.#read(reading, [1])
    assert(reading.stopped === undefined, 'a new segment reads back whole')
    return reading
  }

  async #createMark(mark: DurableMark): Promise<void> {
    const draft = this.#path(MARK_DRAFT_NAME)
    if ((await this.#fs.read(draft)) !== undefined) await wait((done) => this.#fs.remove(draft, done))
    const file = await openFile(this.#fs, draft, 'create')
    const bytes = Buffer.alloc(MARK_FILE_BYTES)
    putMark(bytes, 0, mark)
    try {
      await wait((done) => file.commit(0, [bytes], done))
    } finally {
      await wait((done) => file.close(done))
    }
    await wait((done) => this.#fs.rename(draft, this.#path(MARK_NAME), done))
    await wait((done) => this.#fs.syncDir(this.#options.dir, done))
  }

  async #opened(
    mark: DurableMark,
    slot: 0 | 1,
    at: Position,
    reading: Reading,
    leftovers: readonly number[],
  ): Promise<Opened> {
    const origin = { group: mark.group, owner: mark.owner }
    const markFile = await openFile(this.#fs, this.#path(MARK_NAME), 'existing')
    return { origin, mark, markFile, slot, at, leftovers, reading }
  }

  #removeAll(numbers: readonly number[]): Promise<void> {
    return removeSegments(this.#fs, this.#options.dir, numbers)
  }

  #path(name: string): string {
    return joinPath(this.#options.dir, name)
  }
}

export async function removeSegments(fs: FileSystem, dir: string, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await wait((done) => fs.remove(joinPath(dir, segmentName(number)), done))
  if (numbers.length > 0) await wait((done) => fs.syncDir(dir, done))
}

function whyWithout(read: MarkRead, segments: number): string {
  if (read.type === 'newer') return `format version ${read.version}`
  return read.type === 'mark' ? `group ${read.mark.group}` : `beside ${segments} segments`
}

function finding({ stopped, tail, reach }: Reading, mark: DurableMark): Finding {
  if (stopped?.type === 'newer') return stopped
  const promise = `durable to ${mark.reach}, whole to ${reach} of the log`
  if (stopped !== undefined) return { ...stopped, reason: `${stopped.reason}; ${promise}` }
  return { file: segmentName(tail?.number ?? mark.first), offset: tail?.end ?? 0, reason: promise }
}
