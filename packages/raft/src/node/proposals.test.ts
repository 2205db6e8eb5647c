// Test: who waits for which entry.

import { expect, test } from 'vitest'
import { type Outcome, Proposals } from './proposals.js'

const caps = { entryBytes: 10, gatheredBytes: 25 }
const record = (length: number) => new Uint8Array(length)

function gather(proposals: Proposals, ...lengths: number[]): Outcome[][] {
  return lengths.map((length) => {
    const told: Outcome[] = []
    proposals.add(record(length), (outcome) => told.push(outcome), false)
    return told
  })
}

test('all that gathered becomes one entry, up to the cap of an entry', () => {
  const proposals = new Proposals(caps)
  gather(proposals, 4, 4, 4)
  expect(proposals.take()?.records).toHaveLength(2)
  expect(proposals.take()?.records).toHaveLength(1)
  expect(proposals.take()).toBeUndefined()
})

test('a command that wants to be alone has an entry of its own, wherever it stands', () => {
  const proposals = new Proposals({ entryBytes: 100, gatheredBytes: 100 })
  const add = (length: number, alone = false) => proposals.add(record(length), () => {}, alone)
  add(1)
  add(2, true)
  add(3, true)
  add(4)
  add(5)
  const batches: number[][] = []
  for (let batch = proposals.take(); batch; batch = proposals.take())
    batches.push(batch.records.map((r) => r.length))
  expect(batches).toEqual([[1], [2], [3], [4, 5]])
})

test('C7: what gathers is bounded, and freed again when it is taken', () => {
  const proposals = new Proposals(caps)
  gather(proposals, 10, 10)
  expect(proposals.add(record(6), () => {}, false)).toBe('busy')
  proposals.take()
  expect(proposals.add(record(6), () => {}, false)).toBeUndefined()
  expect(proposals.add(record(11), () => {}, false)).toBe('too-large')
})

test('L16, A9: callers are answered by the entry at their index AND term, never by the index alone', () => {
  const proposals = new Proposals(caps)
  const [told] = gather(proposals, 1)
  proposals.proposed(7, 2, proposals.take() as never)
  expect(proposals.settle(6, 2)).toBeUndefined()
  expect(proposals.settle(7, 3)).toBeUndefined()
  expect(told).toEqual([{ type: 'unknown' }])
})

test('an entry that is applied hands back its callers once', () => {
  const proposals = new Proposals(caps)
  gather(proposals, 1, 1)
  proposals.proposed(7, 2, proposals.take() as never)
  expect(proposals.settle(7, 2)).toHaveLength(2)
  expect(proposals.settle(7, 2)).toBeUndefined()
})

test('C4: with leadership gone, what gathered was never handed on, what was proposed is unknown', () => {
  const proposals = new Proposals(caps)
  const [proposed] = gather(proposals, 1)
  proposals.proposed(7, 2, proposals.take() as never)
  const [gathered] = gather(proposals, 1)
  proposals.abandon('not-leader')
  expect(proposed).toEqual([{ type: 'unknown' }])
  expect(gathered).toEqual([{ type: 'refused', reason: 'not-leader' }])
  expect(proposals.gathered + proposals.inFlight).toBe(0)
})
