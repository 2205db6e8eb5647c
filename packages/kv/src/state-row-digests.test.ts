// Test: after the first entry of each half minute of cluster time, all members compute the hash of the same
// state, and can open a view of this state.

import { OP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { StateDigest } from './state-row-digests.js'
import {
  SPACE_NAMES,
  eventKey,
  keyOf,
  keyOfNumber,
  nameOfRow,
  replyKey,
  META_KEY,
  SPACE,
} from './keyspaces.js'
import { KvMachine } from './key-value-state-machine.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { StateHash } from './kv-store-types.js'
import { SMALL_LIMITS, applyAll, newMachine } from './testing/apply-entries-and-hash-rows.js'
import { drawWorkload, KINDS_WITH_ONCE } from './testing/random-commands.js'
import { HandClock, MEMBERS, World, k } from './testing/state-machine-with-own-log.js'

async function sumsOf(frozen: StateDigest): Promise<Record<string, string>> {
  const sums: Record<string, string> = {}
  for (const space of SPACE_NAMES) sums[space] = (await frozen.digest(space, undefined, undefined)).sum
  return sums
}

test('A10: however the log is cut and written, the view after an entry is the same, row by row', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const entries = drawWorkload(`frozen ${seed}`, 150, KINDS_WITH_ONCE)
    const [often, once] = [newMachine(new SimulatedRowStorage()), newMachine(new SimulatedRowStorage())]
    await often.open()
    await once.open()
    for (const entry of entries) {
      await applyAll(often, [entry])
      if (entry.index % 3 === 0) await often.flush()
    }
    await applyAll(once, entries)
    const frozen = [
      await often.digestAt(entries.length),
      await once.digestAt(entries.length),
    ] as StateDigest[]
    const [a, b] = await Promise.all(frozen.map(sumsOf))
    expect(a).toEqual(b)
    // The sums that are updated in memory, as rows are added and removed, give the same result.
    const { spaces } = once.stateHash()
    for (const space of SPACE_NAMES) if (space !== 'events') expect(b?.[space]).toBe(spaces[space])
    expect(await once.digestAt(entries.length - 1)).toBeUndefined()
    for (const one of frozen) one.close()
  }
})

test('the hash is made after the first entry of each half minute; the next entry waits until the view was taken', async () => {
  const entries = drawWorkload('marks', 60).map((entry, i) => ({ ...entry, time: 1_000 + i * 1_700 }))
  const run = async (atOnce: number, waits: boolean) => {
    const seen: { hash: StateHash; sums?: Record<string, string> }[] = []
    const machine: KvMachine = new KvMachine({
      ...{
        storage: new SimulatedRowStorage(),
        nextTurn: setImmediate,
        clock: new HandClock(),
        limits: SMALL_LIMITS,
      },
      onStateHash: (hash) => {
        const one: (typeof seen)[number] = { hash }
        seen.push(one)
        if (!waits) return undefined
        return machine.digestAt(hash.position.index).then(async (frozen) => {
          // Later changes are not seen, although reading takes a while.
          one.sums = await sumsOf(frozen as StateDigest)
        })
      },
    })
    await machine.open()
    for (let i = 0; i < entries.length; i += atOnce)
      await machine.apply(entries.slice(i, i + atOnce), () => MEMBERS)
    return { seen, hash: machine.stateHash() }
  }
  const [one, all, waiting] = [await run(1, false), await run(60, false), await run(60, true)]
  expect(one.seen.map(({ hash }) => hash.position.time)).toEqual([31_600, 60_500, 91_100])
  expect(all).toEqual(one)
  expect(waiting.hash).toEqual(one.hash)
  expect(waiting.seen.map(({ hash }) => hash)).toEqual(one.seen.map(({ hash }) => hash))
  for (const { hash, sums } of waiting.seen) {
    expect(sums?.['data']).toBe(hash.spaces['data'])
    expect(sums?.['meta']).toBe(hash.spaces['meta'])
  }
})

test('A15: many rows are hashed in several turns, and the next entry waits for the last of them', async () => {
  const hashes: StateHash[] = []
  let turns = 0
  const nextTurn = (run: () => void) => {
    turns++
    setImmediate(run)
  }
  const w = await World.open({ nextTurn, onStateHash: (hash) => void hashes.push(hash) })
  for (let i = 0; i < 5_000; i++)
    await w.run([OP.tryLock, k(`l${i}`), null, false, 'me', 3_600_000, 0, null, null])
  hashes.length = 0
  turns = 0
  w.time += 29_000
  const mark = w.entry(new Uint8Array(0), 'empty')
  const behind = w.entry(new Uint8Array(0), 'empty')
  await w.apply(mark, behind)
  expect(hashes.map(({ position }) => position.index)).toEqual([mark.index])
  expect(turns).toBeGreaterThanOrEqual(2)
  expect(hashes[0]?.spaces['holds']).toBe(w.machine.stateHash().spaces['holds'])
})

test('the digest of a number of rows after a key', async () => {
  const w = await World.open()
  for (const key of ['a', 'b', 'c', 'd']) await w.one([OP.put, null, k(key), k('v')])
  const frozen = (await w.machine.digestAt(w.log.length)) as StateDigest
  const rowOf = (key: string | undefined) => (key === undefined ? undefined : keyOf(SPACE.data, k(key)))
  const keys = async (...args: [string | undefined, string | undefined, number?]) => {
    const [after, upTo, rows] = args
    const { first, last } = await frozen.digest('data', rowOf(after), rowOf(upTo), rows)
    return [first, last].map((key) => key && Buffer.from(key).toString())
  }
  expect(await keys(undefined, undefined)).toEqual(['da', 'dd'])
  expect(await keys('a', undefined, 2)).toEqual(['db', 'dc'])
  expect(await keys('a', 'b')).toEqual(['db', 'db'])
  expect(await keys('d', undefined)).toEqual([undefined, undefined])
  frozen.close()
})

test('a row has a readable name', () => {
  expect(nameOfRow(META_KEY)).toBe('meta')
  expect(nameOfRow(keyOf(SPACE.data, k('a"b')))).toBe('data "a\\"b"')
  expect(nameOfRow(eventKey(32, 1))).toBe('events 32/1')
  expect(nameOfRow(replyKey(3, 4))).toBe('replies 3/4')
  expect(nameOfRow(keyOfNumber(SPACE.sessions, 7))).toBe('sessions 7')
  expect(nameOfRow(Uint8Array.of(250, 1))).toBe('a row of an unknown space, fa01')
})
