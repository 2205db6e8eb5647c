// Test: the unread bytes of all connections together have a limit, and beyond it the slowest connection is
// closed first.

import { RefusalLog, silentLogger } from '@latchkey/base'
import { expect, test } from 'vitest'
import { MOST_OF_ALL, MOST_OF_ONE, UnreadBytesLimit } from './unread-bytes-limit.js'

function scene() {
  const refusals = new RefusalLog({ clock: { now: () => 0 }, logger: silentLogger })
  const unreadBytes = new UnreadBytesLimit(refusals)
  const closed: string[] = []
  const reader = (name: string) => {
    const one = { bytes: 0, waiting: () => one.bytes, close: () => void closed.push(name) }
    return {
      one,
      write: (bytes: number) => {
        one.bytes += bytes
        return unreadBytes.wrote(one)
      },
    }
  }
  return { refusals, unreadBytes, closed, reader }
}

test('C23: one connection has a cap of its own', () => {
  const { closed, reader, unreadBytes, refusals } = scene()
  const { write } = reader('a')
  expect(write(MOST_OF_ONE)).toBe(true)
  expect(write(1)).toBe(false)
  expect(closed).toEqual(['a'])
  expect(unreadBytes.bytes).toBe(0)
  expect(refusals.counts()).toEqual([{ door: 'clients', reason: 'slow-reader', count: 1 }])
})

test('C23: beyond the cap of all, the one with the most bytes waiting goes, whoever wrote last', () => {
  const { closed, reader, unreadBytes, refusals } = scene()
  const [a, b, c] = [reader('a'), reader('b'), reader('c')]
  a.write(MOST_OF_ONE - 2)
  b.write(MOST_OF_ONE)
  expect(c.write(2)).toBe(true)
  expect(closed).toEqual([])
  expect(c.write(1)).toBe(true)
  expect(closed).toEqual(['b'])
  expect(unreadBytes.bytes).toBe(MOST_OF_ALL - MOST_OF_ONE + 1)
  expect(refusals.counts()).toEqual([{ door: 'clients', reason: 'slowest-of-all', count: 1 }])
})

test('C23: what was read meanwhile does not count', () => {
  const { closed, reader, unreadBytes } = scene()
  const readers = ['a', 'b', 'c', 'd'].map(reader)
  for (let round = 0; round < 3; round++) {
    for (const { one, write } of readers) {
      write(MOST_OF_ONE)
      one.bytes = 0
    }
  }
  expect(closed).toEqual([])
  expect(unreadBytes.bytes).toBe(0)
})
