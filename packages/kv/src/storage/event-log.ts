// Driver: stores the rows of events in files beside LevelDB, the event log. LevelDB would write each row
// about four times: to its log, to a table, and again in compactions. It would also free the space of removed
// rows late. These writes were half of the cost of a put. Events are removed in the order in which they were
// added. So the event log writes a row once, and removes a file when none of its rows is in use.
// Laws
// - J1: a frame has the events of one batch. The frame is on the disk before LevelDB stores the valid end.
//   The valid end is a row of LevelDB that says up to which byte the event log is valid.
// - J2: an interrupted batch can leave bytes after the valid end. The event log never reads these bytes, and
//   the next start cuts them off.
// - J3: files are removed in order, the oldest first. Before a file is removed, LevelDB durably stores a
//   valid end that begins at a later file. If a newer file were removed first, a removed row of an older file
//   could come back, because the record of its removal would be missing.
// - J4: the index says where each row is. The index changes when a batch is durable. A view keeps the
//   index that the event log had when the view began.

import { join } from 'node:path'
import { lastOf, elementAt, binary } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { type EventLogDisk, nodeEventLogDisk } from './event-log-file-system.js'
import { EventLogFile, eventLogName, eventLogNumber } from './event-log-file.js'
import {
  HEADER_BYTES,
  type Header,
  type ValidEnd,
  decodeHeader,
  encodeFrame,
  encodeHeader,
  headerChecksum,
  readFrames,
} from './event-log-file-format.js'
import { type Index, EventLogView, type Pending, type ValueLocation } from './event-log-view.js'
import type { RowChange } from './row-store-interface.js'
import { valueBytes } from './join-parts-of-row-value.js'
import { damagedRow } from './stored-row-checksum.js'

/**
 * In bytes. When a file has this many bytes, the event log begins a new file. Larger files would free their
 * disk space later, because only whole files are removed.
 */
const FILE_BYTES = 8 * 1024 * 1024

export class EventLog {
  readonly #disk: EventLogDisk
  readonly #folder: string
  /** The files, the oldest first. New rows are appended to the last file. */
  readonly #files: EventLogFile[]
  #index: Index
  #pending: Pending | undefined
  /** How many views use the present `#index`. */
  #sharing = 0

  private constructor(disk: EventLogDisk, folder: string, files: EventLogFile[], index: Index) {
    this.#disk = disk
    this.#folder = folder
    this.#files = files
    this.#index = index
  }

  static async create(folder: string, disk: EventLogDisk = nodeEventLogDisk): Promise<EventLog> {
    const file = await begin(disk, folder, { number: 1, previous: { end: 0, checksum: 0 } })
    return new EventLog(disk, folder, [file], new Map())
  }

  /**
   * Opens the event log. LevelDB has stored `validEnd`, which says up to which byte the files are valid.
   * Throws ERR_CORRUPT if the files do not match `validEnd`.
   */
  static async open(
    folder: string,
    validEnd: ValidEnd,
    disk: EventLogDisk = nodeEventLogDisk,
  ): Promise<EventLog> {
    await removeOthers(disk, folder, validEnd)
    const eventLog = new EventLog(disk, folder, [], new Map())
    try {
      for (let number = validEnd.first; number <= validEnd.last; number++)
        await eventLog.#replay(number, validEnd)
      return eventLog
    } catch (error) {
      await eventLog.close()
      throw error
    }
  }

  async #replay(number: number, validEnd: ValidEnd): Promise<void> {
    const file = await EventLogFile.open(this.#disk, this.#folder, number, 'existing').catch(
      (error: unknown) => {
        throw damaged(this.#folder, number, 'it cannot be opened', error)
      },
    )
    this.#files.push(file)
    const before = this.#files[this.#files.length - 2]
    const last = number === validEnd.last
    const bytes = await file.read(0, last ? validEnd.end : await file.size())
    const header = decodeHeader(bytes)
    if (header?.number !== number) throw damaged(this.#folder, number, 'its header is not what was written')
    const { end, checksum } = header.previous
    if (before !== undefined && (before.end !== end || before.checksum !== checksum))
      throw damaged(this.#folder, number - 1, 'it is not as the next one knows it')
    const found = readFrames(bytes, (key, at, length) => {
      this.#setLocation(binary(key), length < 0 ? undefined : { file, at, length })
    })
    if (found === undefined) throw damaged(this.#folder, number, 'a frame is not what was written')
    if (last && (bytes.length !== validEnd.end || found !== validEnd.checksum))
      throw damaged(this.#folder, number, 'it is not as LevelDB knows it')
    file.end = bytes.length
    file.checksum = found
    // The last file may have bytes after the valid end, and these bytes must be cut off (J2). When a further
    // file has begun, the whole length of this file counts as valid.
    if (last) await file.cut(validEnd.end)
  }

  get #tail(): EventLogFile {
    return lastOf(this.#files)
  }

  /**
   * Says up to which byte the files are valid, after the last call of `append`. The caller writes this valid
   * end and the other rows of the batch to LevelDB, together in one LevelDB batch.
   */
  get validEnd(): ValidEnd {
    if (this.#pending !== undefined) return this.#pending.validEnd
    const { number, end, checksum } = this.#tail
    const first = this.#files.find((file) => file.live > 0)?.number ?? number
    return { first, last: number, end, checksum }
  }

  /**
   * Appends the rows. Each row already has its checksum. The caller must not change the rows before the
   * promise resolves. If `sync` is true, the rows are then on the disk (J1). Readers see the rows only after
   * a call of `written`.
   */
  async append(rows: readonly RowChange[], sync: boolean): Promise<void> {
    if (this.#tail.end >= (this.#disk.fileBytes ?? FILE_BYTES)) await this.#roll()
    const file = this.#tail
    const frame = encodeFrame(rows, file.checksum)
    await file.write(frame.parts, file.end)
    if (sync) await file.sync()
    const changes = new Map<string, ValueLocation | undefined>()
    rows.forEach((row, i) => {
      const location = { file, at: file.end + elementAt(frame.values, i), length: valueBytes(row) }
      changes.set(binary(row.key), row.value === undefined ? undefined : location)
    })
    file.end += frame.length
    file.checksum = frame.checksum
    this.#pending = { changes, validEnd: this.validEnd }
  }

  async #roll(): Promise<void> {
    const { number, end, checksum } = this.#tail
    this.#files.push(
      await begin(this.#disk, this.#folder, { number: number + 1, previous: { end, checksum } }),
    )
  }

  /** Called after LevelDB has stored the batch durably. Readers then see the rows of the batch. */
  async written(): Promise<void> {
    if (this.#pending === undefined) return
    const { changes, validEnd } = this.#pending
    this.#pending = undefined
    if (this.#sharing > 0) {
      this.#index = new Map(this.#index)
      this.#sharing = 0
    }
    for (const [key, location] of changes) this.#setLocation(key, location)
    for (
      let file = this.#files[0];
      file !== undefined && file.number < validEnd.first;
      file = this.#files[0]
    ) {
      this.#files.shift()
      await file.remove()
    }
  }

  #setLocation(key: string, location: ValueLocation | undefined): void {
    const before = this.#index.get(key)
    if (before !== undefined) before.file.live--
    if (location === undefined) {
      this.#index.delete(key)
      return
    }
    location.file.live++
    this.#index.set(key, location)
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const location = this.#index.get(binary(key))
    if (location === undefined) return undefined
    const value = location.file.readNow(location.at, location.length)
    if (value.length !== location.length) throw damagedRow(key, 'the event log ends in it')
    return value
  }

  view(): EventLogView {
    const files = [...this.#files]
    for (const file of files) file.retain()
    const index = this.#index
    this.#sharing++
    return new EventLogView(index, this.#pending, () => {
      for (const file of files) file.release()
      if (this.#index === index && this.#sharing > 0) this.#sharing--
    })
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close()
  }
}

async function begin(disk: EventLogDisk, folder: string, header: Header): Promise<EventLogFile> {
  const file = await EventLogFile.open(disk, folder, header.number, 'create')
  const bytes = encodeHeader(header)
  await file.write([bytes], 0)
  await file.sync()
  await disk.sync(folder)
  file.end = HEADER_BYTES
  file.checksum = headerChecksum(bytes)
  return file
}

/**
 * Removes the files that a crash has left behind. Old files were no longer in use, and the event log was
 * about to remove them. A new file was begun, but no batch has used it.
 */
async function removeOthers(disk: EventLogDisk, folder: string, { first, last }: ValidEnd): Promise<void> {
  for (const name of await disk.list(folder)) {
    const number = eventLogNumber(name)
    if (number > 0 && (number < first || number > last)) await disk.remove(join(folder, name))
  }
}

const damaged = (folder: string, number: number, reason: string, cause?: unknown): LatchkeyError =>
  new LatchkeyError(
    'ERR_CORRUPT',
    `${eventLogName(number)} in ${folder} is damaged: ${reason}. Rebuild this member from its peers (latchkey members rebuild), or restore a backup.`,
    cause === undefined ? {} : { cause },
  )
