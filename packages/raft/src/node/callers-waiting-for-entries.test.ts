// Test: which callers wait for which entry.

import { expect, test } from 'vitest'
import { NodeCounters } from './node-counters.js'
import { type Batch, type Outcome, Proposals } from './callers-waiting-for-entries.js'

const counters = new NodeCounters()
const caps = { entryBytes: 10, gatheredBytes: 25 }
const record = (length: number) => Buffer.alloc(length, length)

function gather(proposals: Proposals, ...lengths: number[]): Outcome[][] {
  return lengths.map((length) => {
    const told: Outcome[] = []
    proposals.add(record(length), (outcome) => told.push(outcome))
    return told
  })
}

test('all that gathered becomes one entry, up to the cap of an entry', () => {
  const proposals = new Proposals(caps)
  gather(proposals, 4, 4, 4)
  expect(proposals.take()?.data).toHaveLength(8)
  expect(proposals.take()?.data).toHaveLength(4)
  expect(proposals.take()).toBeUndefined()
})

test('a command that must be alone has an entry of its own, at any place in the queue', () => {
  const proposals = new Proposals({ entryBytes: 100, gatheredBytes: 100 })
  const add = (length: number, alone = false) => proposals.add(record(length), () => {}, alone)
  add(1)
  add(2, true)
  add(3, true)
  add(4)
  add(5)
  const entries: number[][] = []
  for (let batch = proposals.take(); batch; batch = proposals.take()) entries.push([...batch.data])
  expect(entries).toEqual([[1], [2, 2], [3, 3, 3], [4, 4, 4, 4, 5, 5, 5, 5, 5]])
})

test.each([3_000, 100_000])(
  "an entry shares no memory with its commands' bytes, nor with later entries: %i bytes",
  (bytes) => {
    const proposals = new Proposals({ entryBytes: 1_000_000, gatheredBytes: 1_000_000 })
    const handedIn = Buffer.alloc(bytes, 1)
    proposals.add(handedIn, () => {})
    handedIn.fill(2)
    proposals.add(handedIn, () => {})
    handedIn.fill(3)
    const first = proposals.take()?.data
    proposals.add(handedIn, () => {})
    expect(Buffer.alloc(bytes, 3).equals(proposals.take()?.data as Uint8Array)).toBe(true)
    const two = Buffer.concat([Buffer.alloc(bytes, 1), Buffer.alloc(bytes, 2)])
    expect(two.equals(first as Uint8Array)).toBe(true)
  },
)

// Without it: the log keeps 16 MiB of entries, and each of them keeps a buffer that grew to twice its bytes.
test('a large entry takes its buffer with it, but not one that is half empty', () => {
  const proposals = new Proposals({ entryBytes: 1_000_000, gatheredBytes: 1_000_000 })
  for (const count of [1, 2, 3, 5]) {
    for (let i = 0; i < count; i++) proposals.add(Buffer.alloc(100_000), () => {})
    const data = proposals.take()?.data as Uint8Array
    expect(data.length).toBe(count * 100_000)
    expect(data.buffer.byteLength).toBeLessThanOrEqual((data.length * 4) / 3)
  }
})

test('a record that cannot be copied leaves nothing behind', () => {
  const proposals = new Proposals(caps)
  const broken = {
    length: 3,
    copy: () => {
      throw new Error('no bytes')
    },
  }
  expect(() => proposals.add(broken, () => {})).toThrow('no bytes')
  expect(proposals.take()).toBeUndefined()
  const told = gather(proposals, 2)
  expect(() => proposals.add(broken, () => {})).toThrow('no bytes')
  const batch = proposals.take()
  expect(batch?.data).toEqual(record(2))
  proposals.proposed(1, 1, batch as never, 0)
  const answer = { bytes: record(1), fromTable: false }
  proposals.answer({ index: 1, term: 1, time: 9 }, [answer])
  expect(told).toEqual([[{ type: 'applied', answer, time: 9 }]])
})

test('N4: each caller is called with the ticket of its own command, in every outcome', () => {
  const proposals = new Proposals(caps)
  const told: [string, number][] = []
  const done = (outcome: Outcome, ticket: number) => told.push([outcome.type, ticket])
  proposals.add(record(1), done, false, 71)
  proposals.add(record(1), done, false, 72)
  proposals.proposed(1, 1, proposals.take() as never, 0)
  proposals.add(record(1), done, true, 73)
  proposals.proposed(2, 1, proposals.take() as never, 0)
  proposals.add(record(1), done, false, 74)
  proposals.answer({ index: 1, term: 1, time: 1 }, [{ bytes: record(1), fromTable: false }])
  proposals.abandon('closed', counters)
  expect(told).toEqual([
    ['applied', 71],
    ['unknown', 72],
    ['unknown', 73],
    ['refused', 74],
  ])
})

test('C7: what gathers is bounded, and freed again when it is taken', () => {
  const proposals = new Proposals(caps)
  gather(proposals, 10, 10)
  expect(proposals.add(record(6), () => {})).toBe('busy')
  proposals.take()
  expect(proposals.add(record(6), () => {})).toBeUndefined()
  expect(proposals.add(record(11), () => {})).toBe('too-large')
})

test('C7: one command may always gather, even when it is larger than the limit', () => {
  const proposals = new Proposals({ ...caps, gatheredBytes: 1 })
  for (const _ of [1, 2]) {
    expect(proposals.add(record(6), () => {})).toBeUndefined()
    expect(proposals.add(record(1), () => {})).toBe('busy')
    proposals.take()
  }
})

test('L16, A9: callers are answered by the entry at their index AND term, never by the index alone', () => {
  const proposals = new Proposals(caps)
  const [told] = gather(proposals, 1)
  proposals.proposed(7, 2, proposals.take() as never, 0)
  expect(proposals.takeWaiting(6, 2)).toBeUndefined()
  expect(proposals.takeWaiting(7, 3)).toBeUndefined()
  expect(told).toEqual([{ type: 'unknown' }])
})

test('an entry that is applied hands back its callers once', () => {
  const proposals = new Proposals(caps)
  gather(proposals, 1, 1)
  proposals.proposed(7, 2, proposals.take() as never, 0)
  expect(proposals.takeWaiting(7, 2)?.callers.dones).toHaveLength(2)
  expect(proposals.takeWaiting(7, 2)).toBeUndefined()
})

test('C4: an entry of another leader tells every caller that waited at its index or at an earlier one', () => {
  const proposals = new Proposals(caps)
  const told = gather(proposals, 8, 8, 8)
  for (const index of [1, 2, 3]) proposals.proposed(index, 1, proposals.take() as Batch, 0)
  expect(proposals.answer({ index: 3, term: 2, time: 0 }, [])).toBeUndefined()
  expect(told).toEqual(told.map(() => [{ type: 'unknown' }]))
})

test('C4: after the loss of leadership gathered commands are refused, and proposed ones are unknown', () => {
  const proposals = new Proposals(caps)
  const [proposed] = gather(proposals, 1)
  proposals.proposed(7, 2, proposals.take() as never, 0)
  const [gathered] = gather(proposals, 1)
  const counted = new NodeCounters()
  proposals.abandon('not-leader', counted)
  expect([counted.unknown, counted.refused]).toEqual([1, 1])
  expect(proposed).toEqual([{ type: 'unknown' }])
  expect(gathered).toEqual([{ type: 'refused', reason: 'not-leader' }])
  expect(proposals.gathered + proposals.inFlight).toBe(0)
})
