// Test: a linearizable read waits for its own round of heartbeats, and until the index of the round is
// applied.

import { expect, test } from 'vitest'
import { type ReadOutcome, Reads } from './linearizable-reads.js'

function add(reads: Reads): ReadOutcome[] {
  const told: ReadOutcome[] = []
  reads.add((outcome) => told.push(outcome))
  return told
}

test('R4: a confirmed read waits until its index is applied', () => {
  const reads = new Reads()
  const told = add(reads)
  reads.confirm(reads.startRound(), 5, 1234)
  reads.serve(4)
  expect(told).toEqual([])
  reads.serve(5)
  expect(told).toEqual([{ ok: true, index: 5, time: 1234 }])
})

test('R3, R5: a read that comes while a round is under way gets a round of its own', () => {
  const reads = new Reads()
  add(reads)
  const first = reads.startRound()
  const late = add(reads)
  reads.confirm(first, 5, 1)
  reads.confirm(first, 5, 1)
  reads.serve(9)
  expect(late).toEqual([])
  const second = reads.startRound()
  expect(second).not.toBe(first)
  reads.confirm(second, 6, 2)
  reads.serve(9)
  expect(late).toEqual([{ ok: true, index: 6, time: 2 }])
})

test('a round that cannot be confirmed sends its callers back', () => {
  const reads = new Reads()
  const refused = add(reads)
  reads.confirm(reads.startRound(), undefined, 0)
  expect(refused).toEqual([{ ok: false }])
})

test('C9: at the stop every waiting read is answered once', () => {
  const reads = new Reads()
  const told = [add(reads)]
  reads.confirm(reads.startRound(), 5, 1)
  told.push(add(reads))
  reads.startRound()
  told.push(add(reads))
  reads.abandon()
  reads.serve(99)
  expect(told).toEqual([[{ ok: false }], [{ ok: false }], [{ ok: false }]])
})
