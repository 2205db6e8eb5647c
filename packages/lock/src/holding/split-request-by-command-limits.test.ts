// Test: a request about many holds is split only where a limit of a command asks for it, and has each item
// once.

import { CAPS } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { splitRequests } from './split-request-by-command-limits.js'

interface Item {
  readonly key: Uint8Array
  readonly id: string
}
const split = (items: readonly Item[]) => splitRequests(items, (item) => item)
const items = (count: number, bytes = 1): Item[] =>
  Array.from({ length: count }, (_, n) => ({ key: Buffer.alloc(bytes, 1), id: String(n) }))

test('as few commands as the number of holds in a command allows', () => {
  const most = CAPS.commandHolds
  const sizes = [0, 1, 2, most, most + 1, 2 * most].map((count) =>
    split(items(count)).map(({ length }) => length),
  )
  expect(sizes).toEqual([[], [1], [2], [most], [most, 1], [most, most]])
})

test('a command has no more bytes than it may, and all items are there, in order', () => {
  const all = items(40, CAPS.commandBytes / 9)
  const requests = split(all)
  expect(requests.flat()).toEqual(all)
  for (const request of requests) {
    const bytes = request.reduce((sum, { key, id }) => sum + key.length + id.length, 0)
    expect(bytes).toBeLessThanOrEqual(CAPS.commandBytes / 2)
  }
  expect(requests.map(({ length }) => length)).toEqual(Array(10).fill(4))
})
