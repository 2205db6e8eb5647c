// Test: a view of the event log gives its files back once, and is not read after its end.

import { expect, test } from 'vitest'
import { EventLogView } from './event-log-view.js'

const ALL = { start: undefined, end: undefined }
const noEnd = () => Promise.reject(new Error('no valid end is needed'))

test('close() releases the files once, and a page of a closed view is refused', async () => {
  let released = 0
  const view = new EventLogView(new Map(), undefined, () => void released++)
  expect(await view.page(ALL, 10, 1_000, noEnd)).toEqual({ rows: [], end: true })
  expect(released).toBe(0)
  view.close()
  view.close()
  expect(released).toBe(1)
  await expect(view.page(ALL, 10, 1_000, noEnd)).rejects.toMatchObject({ code: 'ERR_CLOSED' })
})

test('a page ends at its rows and its bytes, in both directions', async () => {
  const file = { read: async (_at: number, length: number) => new Uint8Array(length) }
  const names = ['e1', 'e2', 'e3', 'e4']
  const index = new Map(names.map((name) => [name, { file, at: 0, length: 8 }]))
  const view = new EventLogView(index as never, undefined, () => {})
  const page = async (more: object, rows: number, bytes: number) => {
    const { rows: found, end } = await view.page({ ...ALL, ...more }, rows, bytes, noEnd)
    return [found.map(({ key }) => Buffer.from(key).toString()).join(' '), end]
  }
  expect(await page({}, 2, 1_000)).toEqual(['e1 e2', false])
  expect(await page({}, 4, 1_000)).toEqual(['e1 e2 e3 e4', true])
  // Each row has ten bytes with its key, and a page has at least the wanted bytes.
  expect(await page({}, 10, 20)).toEqual(['e1 e2', false])
  expect(await page({}, 10, 21)).toEqual(['e1 e2 e3', false])
  expect(await page({ reverse: true }, 3, 1_000)).toEqual(['e4 e3 e2', false])
  expect(await page({ start: Buffer.from('e2'), end: Buffer.from('e4') }, 10, 1_000)).toEqual(['e2 e3', true])
  expect(await page({ keysOnly: true }, 10, 5)).toEqual(['e1 e2 e3', false])
})
