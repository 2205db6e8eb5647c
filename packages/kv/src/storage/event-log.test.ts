// Test: damaged bytes before the valid end of the event log are refused (D17, D18), and bytes after it are
// ignored (D4).

import {
  appendFileSync,
  cpSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Folders } from '../testing/temporary-folders.js'
import { decodeValidEnd, encodeValidEnd, type ValidEnd } from './event-log-file-format.js'
import { EventLog } from './event-log.js'
import { CHECKSUM_BYTES, withChecksum } from './stored-row-checksum.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const key = (i: number) => Buffer.from(`e${String(i).padStart(6, '0')}`)
const put = (i: number, value: string | Buffer = `value ${i}`) => ({
  key: key(i),
  value: withChecksum(key(i), Buffer.from(value)),
})
const body = (value: Uint8Array) => Buffer.from(value.subarray(CHECKSUM_BYTES)).toString()
const del = (i: number) => ({ key: key(i), value: undefined })
const MIB = Buffer.alloc(1024 * 1024, 7)
const FIRST_FILE = 'rows-journal-1'

/** Writes a batch as a store does, and returns the valid end that LevelDB then holds. */
async function write(eventLog: EventLog, ...rows: (ReturnType<typeof put> | ReturnType<typeof del>)[]) {
  await eventLog.append(rows, true)
  const { validEnd } = eventLog
  await eventLog.written()
  return validEnd
}

async function all(eventLog: EventLog): Promise<string[]> {
  const view = eventLog.view()
  const page = await view.page({ start: undefined, end: undefined }, 1e6, 1e9, () =>
    Promise.reject(new Error()),
  )
  view.close()
  return page.rows.map(({ key, value }) => `${Buffer.from(key)}=${body(value)}`)
}

async function twoBatches(): Promise<{ folder: string; validEnd: ValidEnd }> {
  const folder = folders.make()
  const eventLog = await EventLog.create(folder)
  await write(eventLog, put(1), put(2), put(3))
  const validEnd = await write(eventLog, del(1), put(2, 'again'), put(4))
  await eventLog.close()
  return { folder, validEnd }
}
const KEPT = ['e000002=again', 'e000003=value 3', 'e000004=value 4']

async function opened(folder: string, validEnd: ValidEnd): Promise<string[] | string> {
  try {
    const eventLog = await EventLog.open(folder, validEnd)
    const rows = await all(eventLog)
    await eventLog.close()
    return rows
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('rows that were written are there after the event log is opened again', async () => {
  const { folder, validEnd } = await twoBatches()
  expect(await opened(folder, validEnd)).toEqual(KEPT)
})

test('D18: any flipped bit before the valid end, and any missing byte: ERR_CORRUPT', async () => {
  const { folder, validEnd } = await twoBatches()
  const path = join(folder, FIRST_FILE)
  const bytes = readFileSync(path)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
    writeFileSync(path, flipped)
    expect(await opened(folder, validEnd), `bit ${bit}`).toBe('ERR_CORRUPT')
  }
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(path, bytes.subarray(0, length))
    expect(await opened(folder, validEnd), `${length} bytes`).toBe('ERR_CORRUPT')
  }
  rmSync(path)
  expect(await opened(folder, validEnd)).toBe('ERR_CORRUPT')
})

test('D4, J2: bytes that a killed batch left after the valid end do not count, and are overwritten', async () => {
  const { folder, validEnd } = await twoBatches()
  let eventLog = await EventLog.open(folder, validEnd)
  await eventLog.append([put(5), del(2)], true)
  await eventLog.close()
  appendFileSync(join(folder, FIRST_FILE), Buffer.alloc(1_000, 0xff))
  eventLog = await EventLog.open(folder, validEnd)
  expect(await all(eventLog)).toEqual(KEPT)
  const later = await write(eventLog, put(6, 'six'))
  await eventLog.close()
  expect(await opened(folder, later)).toEqual([...KEPT, 'e000006=six'])
})

test('J2: bytes left after the valid end are gone when another file follows', async () => {
  const { folder, validEnd } = await twoBatches()
  appendFileSync(join(folder, FIRST_FILE), Buffer.alloc(10 * MIB.length, 0xff))
  const eventLog = await EventLog.open(folder, validEnd)
  let last = validEnd
  for (let i = 0; i < 10; i++) last = await write(eventLog, put(10 + i, MIB))
  await eventLog.close()
  expect(last.last).toBe(2)
  expect(await opened(folder, last)).toHaveLength(13)
})

test('D18: a whole file of an earlier time in the place of the right one: ERR_CORRUPT', async () => {
  const { folder, validEnd } = await twoBatches()
  const path = join(folder, FIRST_FILE)
  const other = folders.make()
  const eventLog = await EventLog.create(other)
  await write(eventLog, put(1), put(2), put(3))
  const its = await write(eventLog, del(1), put(2, 'again'), put(4, 'VALUE 4'))
  expect(its.end).toBe(validEnd.end)
  await eventLog.close()
  const whole = readFileSync(path)
  writeFileSync(path, readFileSync(join(other, FIRST_FILE)))
  expect(await opened(folder, validEnd)).toBe('ERR_CORRUPT')
  writeFileSync(path, whole)
  expect(await opened(folder, validEnd)).toEqual(KEPT)
})

const numbers = (folder: string) =>
  readdirSync(folder).map((name) => Number(name.slice('rows-journal-'.length)))

/** Rows as events are: added at one end and removed at the other. */
async function manyFiles(value = MIB): Promise<{ folder: string; eventLog: EventLog; validEnd: ValidEnd }> {
  const folder = folders.make()
  const eventLog = await EventLog.create(folder)
  let validEnd = eventLog.validEnd
  for (let i = 0; i < 40; i++) {
    validEnd = await write(eventLog, put(i, value), ...(i < 12 ? [] : [del(i - 12)]))
    expect(numbers(folder), 'what LevelDB was told last').toContain(validEnd.first)
  }
  return { folder, eventLog, validEnd }
}

test('J3: the oldest files are removed, each after LevelDB holds a valid end that does not need it', async () => {
  const { folder, eventLog, validEnd } = await manyFiles()
  expect(validEnd.last).toBeGreaterThan(4)
  const left = numbers(folder).sort((a, b) => a - b)
  expect(left).toEqual(
    Array.from({ length: validEnd.last - validEnd.first + 1 }, (_, i) => validEnd.first + i),
  )
  expect(left.length).toBeLessThan(4)
  await eventLog.close()
  const again = await EventLog.open(folder, validEnd)
  expect((await all(again)).map((row) => row.slice(0, 7))).toEqual(
    Array.from({ length: 12 }, (_, i) => key(28 + i).toString()),
  )
  await again.close()
})

// Without this law: a watch that begins at the oldest event of the history finds its file removed.
test('J3: a file stays while one of its rows is left, and is removed after that row', async () => {
  const folder = folders.make()
  const eventLog = await EventLog.create(folder)
  let validEnd = await write(eventLog, put(0, 'kept'))
  for (let i = 1; validEnd.last < 3; i++)
    validEnd = await write(eventLog, put(i, MIB), ...(i > 1 ? [del(i - 1)] : []))
  expect([validEnd.first, numbers(folder).sort()]).toEqual([1, [1, 2, 3]])
  await eventLog.close()
  const again = await EventLog.open(folder, validEnd)
  expect((await all(again))[0]).toBe('e000000=kept')
  await write(again, del(0))
  // The next batch tells LevelDB that the file is not needed any more.
  validEnd = await write(again, put(1_000))
  expect([validEnd.first > 1, numbers(folder).includes(1)]).toEqual([true, false])
  await again.close()
})

test('J3: a crash before a file was removed, or after one was begun, leaves files that do not count', async () => {
  const { folder, eventLog, validEnd } = await manyFiles()
  await eventLog.close()
  for (const number of [validEnd.first - 1, validEnd.last + 1])
    cpSync(join(folder, `rows-journal-${validEnd.last}`), join(folder, `rows-journal-${number}`))
  const again = await EventLog.open(folder, validEnd)
  expect(await all(again)).toHaveLength(12)
  expect(numbers(folder)).not.toContain(validEnd.last + 1)
  expect(numbers(folder)).not.toContain(validEnd.first - 1)
  await again.close()
})

test('D18: a file before the last one that was cut, or is another file: ERR_CORRUPT', async () => {
  const { folder, eventLog, validEnd } = await manyFiles()
  await eventLog.close()
  const path = join(folder, `rows-journal-${validEnd.first}`)
  const whole = readFileSync(path)
  truncateSync(path, whole.length - MIB.length - 30)
  expect(await opened(folder, validEnd)).toBe('ERR_CORRUPT')
  writeFileSync(path, readFileSync(join(folder, `rows-journal-${validEnd.last}`)))
  expect(await opened(folder, validEnd)).toBe('ERR_CORRUPT')
  const other = await manyFiles(Buffer.alloc(MIB.length, 8))
  await other.eventLog.close()
  writeFileSync(path, readFileSync(join(other.folder, `rows-journal-${validEnd.first}`)))
  expect(await opened(folder, validEnd)).toBe('ERR_CORRUPT')
  writeFileSync(path, whole)
  expect(await opened(folder, validEnd)).toHaveLength(12)
})

test('J4: a view reads its rows also after their file was removed', async () => {
  const folder = folders.make()
  const eventLog = await EventLog.create(folder)
  await write(eventLog, put(0, 'old'))
  const view = eventLog.view()
  for (let i = 1; i < 30; i++) await write(eventLog, put(i, MIB), del(i - 1))
  expect(numbers(folder)).not.toContain(1)
  const page = await view.page({ start: undefined, end: undefined }, 10, 1e9, () =>
    Promise.reject(new Error()),
  )
  expect(page.rows.map(({ value }) => body(value))).toEqual(['old'])
  view.close()
  expect(eventLog.get(key(0))).toBeUndefined()
  expect(eventLog.get(key(29))).toHaveLength(CHECKSUM_BYTES + MIB.length)
  await eventLog.close()
})

// Without this law: LevelDB returns the valid end with a changed bit, a later file seems to be the first one,
// and the files before it are removed with their events.
test('D18: the valid end is refused with ERR_CORRUPT for any changed bit, and for any byte too few or too many', () => {
  const validEnd = { first: 3, last: 7, end: 8_400_123, checksum: 0xdeadbeef }
  const { value } = encodeValidEnd(validEnd)
  expect(decodeValidEnd(value)).toEqual(validEnd)
  const refused = expect.objectContaining({ code: 'ERR_CORRUPT' })
  for (let bit = 0; bit < value.length * 8; bit++) {
    const flipped = Buffer.from(value)
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(() => decodeValidEnd(flipped), `bit ${bit}`).toThrow(refused)
  }
  for (let length = 0; length < value.length; length++)
    expect(() => decodeValidEnd(value.subarray(0, length)), `${length} bytes`).toThrow(refused)
  expect(() => decodeValidEnd(Buffer.concat([value, Buffer.alloc(1)]))).toThrow(refused)
  // A row with a right checksum, but of another key.
  expect(() => decodeValidEnd(withChecksum(key(1), Buffer.from(value.subarray(CHECKSUM_BYTES))))).toThrow(
    refused,
  )
})
