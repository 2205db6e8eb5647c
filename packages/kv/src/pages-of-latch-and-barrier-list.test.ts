// Test: the lists of latches and barriers. Random rows are listed page by page, and compared with the whole list.

import { compareBytes } from '@latchkey/base'
import {
  type BarrierInfoResult,
  type LatchInfoResult,
  type ListPageArg,
  OP,
  PARTY_OF,
  type PartyOf,
  READ,
} from '@latchkey/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { k, World } from './testing/state-machine-with-own-log.js'

type Row = LatchInfoResult | BarrierInfoResult

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')
const shown = (rows: readonly Row[]) => rows.map(([name, ...rest]) => [text(name), ...rest])

function listed(world: World, of: PartyOf, prefix: Uint8Array, page?: ListPageArg): Row[] {
  const read = [READ.parties, of, prefix] as const
  return world.machine.read(page === undefined ? read : [...read, page]) as Row[]
}

/** Returns the part of the list that the wire type ListPageArg describes, taken from the whole list. */
const partOf = (all: readonly Row[], [after, limit]: ListPageArg) =>
  all.filter(([name]) => after === null || compareBytes(name, after) > 0).slice(0, limit + 1)

const NAMES = ['a', 'a/', 'a/1', 'a/2', 'a/3', 'b', 'b/1', '\u00ff', 'c'].map((name) =>
  Buffer.from(name, 'latin1'),
)
const someNames = fc.shuffledSubarray(NAMES)

test('each part of the list has the rows that the whole list has there', async () => {
  await fc.assert(
    fc.asyncProperty(someNames, someNames, someNames, async (latches, waited, barriers) => {
      const world = await World.open()
      for (const name of latches) await world.one([OP.createLatch, name, 1])
      for (const name of waited) await world.one([OP.waitLatch, name, 'at latch', 0])
      for (const name of barriers) await world.one([OP.enterBarrier, name, 'at barrier', 2, 0])
      for (const of of [PARTY_OF.latch, PARTY_OF.barrier]) {
        const names = (of === PARTY_OF.latch ? latches : barriers).toSorted(compareBytes)
        expect(shown(listed(world, of, k(''))).map(([name]) => name)).toEqual(names.map(text))
        for (const prefix of [k(''), k('a'), k('a/')]) {
          const all = listed(world, of, prefix)
          for (const after of [null, k('a'), k('a/1'), k('zz')])
            for (const limit of [0, 1, 2, 3, 1_000])
              expect(shown(listed(world, of, prefix, [after, limit]))).toEqual(
                shown(partOf(all, [after, limit])),
              )
        }
      }
    }),
    { numRuns: 40 },
  )
})

test('a barrier without waiters is not listed, also if a call waits at a latch of the same name', async () => {
  const world = await World.open()
  for (const id of ['first', 'second']) await world.one([OP.enterBarrier, k('same'), id, 2, 0])
  await world.one([OP.createLatch, k('same'), 1])
  await world.one([OP.waitLatch, k('same'), 'waiter', 0])
  expect(listed(world, PARTY_OF.barrier, k(''))).toEqual([])
  expect(shown(listed(world, PARTY_OF.latch, k('')))).toEqual([['same', 1, 1]])
})
