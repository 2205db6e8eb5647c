// Test: a shared hold is found by its present token, the holds in force are counted for each session, and a page
// of holds looks at few holds.

import { text, utf8 } from '@latchkey/base'
import type { HoldRow } from '@latchkey/lock'
import { expect, test } from 'vitest'
import { numberIn } from '../keyspaces.js'
import type { RowChange } from '../storage/row-store-interface.js'
import { Holds } from './lock-holds.js'

const KEY = utf8('k')
const row = (id: string, token: number, more: object = {}) =>
  ({
    key: KEY,
    id,
    token,
    firstToken: token,
    acquires: 1,
    deadline: 1_000,
    context: null,
    fencingKey: null,
    session: 1,
    since: 0,
    touchBy: 0,
    code: 0,
    permits: 1,
    arrival: token,
    ...more,
  }) as unknown as HoldRow

function holds() {
  let held = 0
  const all = new Holds({ held: (_row: HoldRow, by: number) => (held += by) } as never)
  const withToken = (token: number) => all.sharedHoldWith(KEY, token)?.id
  return { all, withToken, held: () => held }
}

// Without this: a write with the new token of a shared hold is refused, and one with the old token is taken.
test('a shared hold that gets a new token is found by the new one only', () => {
  const { all, withToken } = holds()
  all.put(row('a', 1))
  all.put(row('b', 2))
  all.put(row('a', 3, { firstToken: 1, arrival: 1 }))
  expect([1, 2, 3].map(withToken)).toEqual([undefined, 'b', 'a'])
  // The same token again changes nothing.
  all.put(row('a', 3, { firstToken: 1, arrival: 1, deadline: 2_000 }))
  expect([1, 2, 3].map(withToken)).toEqual([undefined, 'b', 'a'])
  expect([...all.sharedOf(KEY)].map(({ id }) => id)).toEqual(['a', 'b'])
})

test('an exclusive hold is no shared one, and each hold in force is counted once', () => {
  const { all, withToken, held } = holds()
  all.put(row('a', 1, { permits: 0 }))
  expect([all.get(KEY)?.id, withToken(1), all.size, held()]).toEqual(['a', undefined, 1, 1])
  all.put(row('a', 2, { permits: 0, session: 2 }))
  expect([all.get(KEY)?.token, all.size, held(), all.countOf(1), all.countOf(2)]).toEqual([2, 1, 1, 0, 1])
})

test('A10: a shared hold that is granted again has only the row of its new arrival number', () => {
  const { all, withToken, held } = holds()
  const keys = () => {
    const batch: RowChange[] = []
    all.collect(batch)
    return batch.map(({ key, value }) => [numberIn(key, 1), value !== undefined])
  }
  all.put(row('a', 1))
  all.put(row('b', 2, { permits: 2 }))
  expect(keys()).toEqual([
    [1, true],
    [2, true],
  ])
  all.put(row('a', 3, { permits: 3 }))
  expect(keys()).toEqual([
    [1, false],
    [3, true],
  ])
  expect([1, 2, 3].map(withToken)).toEqual([undefined, 'b', 'a'])
  expect([all.size, held(), all.countOf(1), all.shared(KEY)?.permits, all.shared(KEY)?.first.id]).toEqual([
    2,
    2,
    2,
    5,
    'b',
  ])
})

// Without this: a page of 1,000 of 100,000 locks looks at 8,000 holds, and most of them are not in the caches of
// the processor.
test('a page of a long list looks only at the holds of its own keys', () => {
  const { all } = holds()
  for (let i = 0; i < 5_000; i++)
    all.put(row('a', i, { key: utf8(`l${1_000 + ((i * 997) % 5_000)}`), permits: 0 }))
  let looks = 0
  const isListed = () => ++looks > 0
  const page = (after: Uint8Array | null) => all.page('l', [after, 100], isListed).map(({ key }) => text(key))
  const keysFrom = (first: number) => Array.from({ length: 101 }, (_, i) => `l${first + i}`)
  expect([page(null), page(utf8('l3000'))]).toEqual([keysFrom(1_000), keysFrom(3_001)])
  expect(looks).toBe(4 * 101)
})

test('a page of a list in which most holds are over has the first holds that are not over', () => {
  const { all } = holds()
  for (let i = 0; i < 5_000; i++)
    all.put(row('a', i, { key: utf8(`l${1_000 + ((i * 997) % 5_000)}`), permits: 0 }))
  const isListed = ({ key }: HoldRow) => text(key) > 'l2000' && text(key).endsWith('0')
  const page = all.page('l', [utf8('l1500'), 3], isListed)
  expect(page.map(({ key }) => text(key))).toEqual(['l2010', 'l2020', 'l2030', 'l2040'])
})
