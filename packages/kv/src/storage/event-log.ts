// Driver: owns rows that come at one end of a space and go at the other (the events), in files to which batches are appended. In
// LevelDB each such row was written four times, log, table, merges, and what was removed of it stayed for long: half of what a put
// cost. Here it is written once, and a file goes when nothing in it is in use.
//
// Laws
//   J1  A frame is on the disk before LevelDB is given the reach that covers it: what LevelDB says that there is, is there.
//   J2  What an interrupted batch left behind the reach is never read, and written over.
//   J3  A file goes only when LevelDB says durably that the event log begins behind it; only the oldest goes, so that no removal
//       is forgotten before the row that it removes.
//   J4  Rows are where the index says; it changes when the batch is durable, and a view keeps the one that it was taken with.

import { join } from 'node:path'
import { binary } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { type EventLogDisk, nodeEventLogDisk } from './event-log-disk.js'
import { EventLogFile, eventLogName, eventLogNumber } from './event-log-file.js'
import {
  HEADER_BYTES,
  type Header,
  type Reach,
  decodeHeader,
  encodeFrame,
  encodeHeader,
  headerChecksum,
  readFrames,
} from './event-log-format.js'
import { type Index, EventLogView, type Pending, type Place } from './event-log-view.js'
import type { RowChange } from './row-store.js'
import { damagedRow } from './row-checksum.js'

/** A file is closed when it has so much. */
const FILE_BYTES = 8 * 1024 * 1024

export class EventLog {
  readonly #disk: EventLogDisk
  readonly #folder: string
  /** Oldest first; the last one is written. */
  readonly #files: EventLogFile[]
  #index: Index
  #pending: Pending | undefined
  /** Views that read `#index` as it is. */
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

  /** `reach`: as LevelDB has it. ERR_CORRUPT where the event log is not what it says. */
  static async open(folder: string, reach: Reach, disk: EventLogDisk = nodeEventLogDisk): Promise<EventLog> {
    await removeOthers(disk, folder, reach)
    const eventLog = new EventLog(disk, folder, [], new Map())
    try {
      for (let number = reach.first; number <= reach.last; number++) await eventLog.#replay(number, reach)
      return eventLog
    } catch (error) {
      await eventLog.close()
      throw error
    }
  }

  async #replay(number: number, reach: Reach): Promise<void> {
    const file = await EventLogFile.open(this.#disk, this.#folder, number, 'existing').catch(
      (error: unknown) => {
        throw damaged(this.#folder, number, 'it cannot be opened', error)
      },
    )
    this.#files.push(file)
    const before = this.#files[this.#files.length - 2]
    const last = number === reach.last
    const bytes = await file.read(0, last ? reach.end : await file.size())
    const header = decodeHeader(bytes)
    if (header?.number !== number) throw damaged(this.#folder, number, 'its header is not what was written')
    const { end, checksum } = header.previous
    if (before !== undefined && (before.end !== end || before.checksum !== checksum))
      throw damaged(this.#folder, number - 1, 'it is not as the next one knows it')
    const found = readFrames(bytes, (key, at, length) => {
      this.#place(binary(key), length < 0 ? undefined : { file, at, length })
    })
    if (found === undefined) throw damaged(this.#folder, number, 'a frame is not what was written')
    if (last && (bytes.length !== reach.end || found !== reach.checksum))
      throw damaged(this.#folder, number, 'it is not as LevelDB knows it')
    file.end = bytes.length
    file.checksum = found
    // J2; and once another file follows, all of this one counts.
    if (last) await file.cut(reach.end)
  }

  get #tail(): EventLogFile {
    return this.#files[this.#files.length - 1] as EventLogFile
  }

  /** What LevelDB has to be told with the batch that was appended last. */
  get reach(): Reach {
    if (this.#pending !== undefined) return this.#pending.reach
    const { number, end, checksum } = this.#tail
    const first = this.#files.find((file) => file.live > 0)?.number ?? number
    return { first, last: number, end, checksum }
  }

  /** J1: on the disk when it resolves, if `sync`; in use once `settle` is called. Values are sealed, and not changed meanwhile. */
  async append(rows: readonly RowChange[], sync: boolean): Promise<void> {
    if (this.#tail.end >= (this.#disk.fileBytes ?? FILE_BYTES)) await this.#roll()
    const file = this.#tail
    const frame = encodeFrame(rows, file.checksum)
    await file.write(frame.parts, file.end)
    if (sync) await file.sync()
    const changes = new Map<string, Place | undefined>()
    rows.forEach(({ key, value }, i) => {
      const at = file.end + (frame.values[i] as number)
      changes.set(binary(key), value === undefined ? undefined : { file, at, length: value.length })
    })
    file.end += frame.length
    file.checksum = frame.checksum
    this.#pending = { changes, reach: this.reach }
  }

  async #roll(): Promise<void> {
    const { number, end, checksum } = this.#tail
    this.#files.push(
      await begin(this.#disk, this.#folder, { number: number + 1, previous: { end, checksum } }),
    )
  }

  /** The batch is durable in LevelDB too. */
  async settle(): Promise<void> {
    if (this.#pending === undefined) return
    const { changes, reach } = this.#pending
    this.#pending = undefined
    if (this.#sharing > 0) {
      this.#index = new Map(this.#index)
      this.#sharing = 0
    }
    for (const [key, place] of changes) this.#place(key, place)
    while ((this.#files[0] as EventLogFile).number < reach.first)
      await (this.#files.shift() as EventLogFile).remove()
  }

  #place(key: string, place: Place | undefined): void {
    const before = this.#index.get(key)
    if (before !== undefined) before.file.live--
    if (place === undefined) {
      this.#index.delete(key)
      return
    }
    place.file.live++
    this.#index.set(key, place)
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const place = this.#index.get(binary(key))
    if (place === undefined) return undefined
    const value = place.file.readNow(place.at, place.length)
    if (value.length !== place.length) throw damagedRow(key, 'the event log ends in it')
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

/** Left behind by a crash: files that were to be removed, and one that was begun. */
async function removeOthers(disk: EventLogDisk, folder: string, { first, last }: Reach): Promise<void> {
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
