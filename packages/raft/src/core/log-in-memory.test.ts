// Test: the laws of the log. The search for the last common entry of two logs is compared with brute force.

import { expect, test } from 'vitest'
import { Log } from './log-in-memory.js'
import type { Entry, EntryKind } from './types.js'

const ORIGIN = { index: 0, term: 0, time: 0 }
const entry = (index: number, term: number, time = 0, size = 1): Entry => ({
  index,
  term,
  time,
  kind: 'commands' as EntryKind,
  data: new Uint8Array(size),
})
const logOf = (terms: readonly number[], start = ORIGIN) =>
  new Log(
    start,
    terms.map((term, i) => entry(start.index + 1 + i, term, start.time)),
  )

test('L13, L17, CT1: a gap, a term or a time that goes back is a broken law', () => {
  const log = logOf([1, 3])
  expect(() => log.append(entry(4, 3))).toThrow('gap')
  expect(() => log.append(entry(3, 2))).toThrow('terms go back')
  expect(() => new Log({ index: 5, term: 2, time: 100 }, [entry(6, 2, 99)])).toThrow('CT1')
})

test('L4: no truncation reaches below the start', () => {
  const log = logOf([2, 2], { index: 5, term: 1, time: 0 })
  expect(() => log.truncate(5)).toThrow('below the start')
  log.truncate(7)
  expect([log.lastIndex, log.termAt(7), log.termAt(5), log.termAt(4)]).toEqual([6, undefined, 1, undefined])
})

test('E5: a log is up to date by last term first, then by length', () => {
  const log = logOf([1, 3, 3])
  expect(log.isUpToDate(9, 2)).toBe(false)
  expect(log.isUpToDate(2, 3)).toBe(false)
  expect(log.isUpToDate(3, 3)).toBe(true)
  expect(log.isUpToDate(1, 4)).toBe(true)
})

test('a batch ends before it is too big, and has one entry at least', () => {
  const log = new Log(ORIGIN, [entry(1, 1, 0, 500), entry(2, 1, 0, 10), entry(3, 1, 0, 10)])
  expect(log.batch(1, 100).map(({ index }) => index)).toEqual([1])
  expect(log.batch(2, 100).map(({ index }) => index)).toEqual([2, 3])
  expect(log.batch(2, 60).map(({ index }) => index)).toEqual([2])
  expect(log.batch(4, 60)).toEqual([])
  expect(log.bytesAfter(1)).toBe(20)
})

test('L23: the log knows the bytes of its entries after each change', () => {
  const log = new Log(ORIGIN, [
    entry(1, 1, 0, 500),
    entry(2, 1, 0, 10),
    entry(3, 1, 0, 7),
    entry(4, 1, 0, 100),
  ])
  const bytes = [log.bytes]
  const change = (run: () => void) => {
    run()
    bytes.push(log.bytes)
  }
  change(() => log.append(entry(5, 1, 0, 1)))
  change(() => log.truncate(4))
  change(() => log.truncate(9))
  change(() => log.compact(1))
  change(() => log.compact(1))
  change(() => log.restart({ index: 9, term: 4, time: 7 }))
  expect(bytes).toEqual([617, 618, 517, 517, 17, 17, 0])
})

test('compaction keeps the place before the first entry; a restart forgets all', () => {
  const log = logOf([1, 2, 2])
  log.compact(2)
  log.compact(1)
  expect([log.start, log.firstIndex, log.slice(3, 3).length]).toEqual([{ index: 2, term: 2, time: 0 }, 3, 1])
  expect(() => log.entry(2)).toThrow('no entry 2')
  log.restart({ index: 9, term: 4, time: 7 })
  expect([log.last, log.lastIndex]).toEqual([{ index: 9, term: 4, time: 7 }, 9])
})

test('L8: a term below the start is unknown, and leads to a snapshot', () => {
  const log = logOf([5, 5], { index: 4, term: 3, time: 0 })
  expect(log.lastNotAbove(6, 4)).toEqual({ index: 4, term: 3 })
  expect(log.lastNotAbove(6, 2)).toEqual({ index: 3, term: 0 })
  expect(log.lastNotAbove(2, 9)).toEqual({ index: 2, term: 0 })
})

/** All logs of up to `length` entries whose terms never go down. */
function* logs(length: number, terms: number, from = 1): Generator<number[]> {
  yield []
  if (length === 0) return
  for (let term = from; term <= terms; term++)
    for (const rest of logs(length - 1, terms, term)) yield [term, ...rest]
}

/**
 * Log matching: when two logs have an entry of the same index and term, all entries before it are the same
 * too.
 */
function canBothExist(a: readonly number[], b: readonly number[]): boolean {
  let apart = false
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) apart = true
    else if (apart) return false
  }
  return true
}

test('L8: the search ends at the common point, never skips it, and takes no more rounds than there are terms', () => {
  const all = [...logs(5, 4)]
  let searches = 0
  for (const mine of all) {
    for (const theirs of all) {
      if (!canBothExist(mine, theirs)) continue
      const leader = logOf(mine)
      const follower = logOf(theirs)
      let common = 0
      while (common < Math.min(mine.length, theirs.length) && mine[common] === theirs[common]) common++
      let prev = leader.lastIndex
      let rounds = 0
      while (!follower.matches(prev, leader.termAt(prev) as number)) {
        const hint = follower.lastNotAbove(prev, leader.termAt(prev) as number)
        const next = Math.min(prev, leader.lastNotAbove(hint.index, hint.term).index + 1) - 1
        if (next < 0 || next >= prev || next < Math.min(common, prev))
          expect({ mine, theirs, prev, next }).toBe('closer')
        prev = next
        rounds++
      }
      if (rounds > 4) expect({ mine, theirs, rounds }).toBe('quick')
      searches++
    }
  }
  expect(searches).toBeGreaterThan(3000)
})
