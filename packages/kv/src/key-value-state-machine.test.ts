// Test: the whole state machine: all members have the same state, the memory equals the stored rows, and a
// crash at any write leaves whole entries.

import { seededRandom } from '@latchkey/base'
import { type LatchkeyError, OP, READ, pack } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { SPACE, numberIn } from './keyspaces.js'
import { SimulatedRowDisk, SimulatedRowStorage } from './storage/simulated-row-store.js'
import { memoryLevelStorage } from './storage/memory-level-storage.js'
import type { RowStore } from './storage/row-store-interface.js'
import { GatedStorage } from './testing/row-store-paused-by-tests.js'
import {
  SMALL_LIMITS,
  applyAll,
  hashOfRows,
  hashesOf,
  newMachine,
} from './testing/apply-entries-and-hash-rows.js'
import { show } from './testing/results-as-text.js'
import { drawWorkload, KINDS_WITH_ONCE } from './testing/random-commands.js'
import { World, k } from './testing/state-machine-with-own-log.js'

const LENGTH = 150

describe('A1, A10: replicas', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'seed %s: however the log is sliced, restarted and flushed, the answers and the state are the same',
    async (seed) => {
      const entries = drawWorkload(seed, LENGTH, KINDS_WITH_ONCE)
      const steady = newMachine(new SimulatedRowStorage())
      await steady.open()
      const answers = []
      const hashes = [steady.stateHash()]
      for (const entry of entries) {
        answers.push(...(await applyAll(steady, [entry])))
        hashes.push(steady.stateHash())
      }
      const random = seededRandom(`slices ${seed}`)
      const storage = seed % 2 === 0 ? memoryLevelStorage() : new SimulatedRowStorage()
      let other = newMachine(storage)
      await other.open()
      for (let at = 0; at < entries.length; ) {
        const slice = entries.slice(at, at + random.between(1, 20))
        expect(await applyAll(other, slice)).toEqual(answers.slice(at, at + slice.length))
        at += slice.length
        if (random.chance(0.3)) await other.flush()
        if (random.chance(0.3)) {
          await other.close()
          other = newMachine(storage)
          expect((await other.open())?.position.index).toBe(at)
        }
        expect(other.stateHash()).toEqual(hashes[at])
      }
    },
  )

  test('a difference is reported with the name of its key space', async () => {
    const [one, two] = [await World.open(), await World.open()]
    await one.one([OP.put, null, k('a'), k('1')])
    await two.one([OP.put, null, k('a'), k('2')])
    const [a, b] = [one.machine.stateHash(), two.machine.stateHash()]
    const differing = Object.keys(a.spaces).filter((space) => a.spaces[space] !== b.spaces[space])
    expect(differing).toEqual(['meta', 'data', 'events', 'replies'])
    expect(a.hash).not.toBe(b.hash)
  })
})

/** The latest time at which the first key of the index of expiring keys is removed: 100 ms after it is due. */
function firstDue(disk: SimulatedRowDisk): number {
  const places = [...disk.keys()].filter((key) => key[0] === SPACE.expiry && key[1] === 0)
  return Math.min(...places.map((key) => numberIn(key, 2))) + 100
}

describe('tables in memory', () => {
  test.each([11, 12, 13])(
    'seed %s: tables in memory equal their rows, and equal what a start reads from the rows',
    async (seed) => {
      const disk = new SimulatedRowDisk()
      const storage = new SimulatedRowStorage(disk)
      const machine = newMachine(storage)
      await machine.open()
      for (const entry of drawWorkload(seed, LENGTH, KINDS_WITH_ONCE)) {
        await applyAll(machine, [entry])
        if (entry.index % 10 !== 0) continue
        await machine.flush()
        expect(await hashOfRows((await storage.open()) as RowStore)).toEqual(machine.stateHash().spaces)
        const again = newMachine(storage)
        await again.open()
        expect(again.stateHash()).toEqual(machine.stateHash())
        // The first machine may know an earlier due time, at which it will find no key.
        const known = Math.max(machine.nextDeadline() ?? Number.POSITIVE_INFINITY, firstDue(disk))
        expect(again.nextDeadline() ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(known)
      }
    },
  )
})

describe('A2: a crash at every write', () => {
  test.each(['lost', 'kept'] as const)(
    'the write under way is %s: the state is of whole entries, and the rest of the log gives the same state',
    async (kept) => {
      const entries = drawWorkload('crash', 60, KINDS_WITH_ONCE)
      const hashes = await hashesOf(new SimulatedRowStorage(), entries)
      let writes = Number.POSITIVE_INFINITY
      for (let stopAt = 1; stopAt <= writes; stopAt++) {
        const disk = new SimulatedRowDisk()
        const storage = new SimulatedRowStorage(disk)
        let seen = 0
        let machine = newMachine(storage)
        await machine.open()
        disk.fault = (step) => {
          if (step === 'write') seen++
        }
        let crashed = false
        for (const entry of entries) {
          await applyAll(machine, [entry])
          const flushed = entry.index % 3 === 0 ? machine.flush() : undefined
          if (seen === stopAt && !crashed) {
            crashed = true
            storage.crash(kept)
            machine = newMachine(storage)
            const at = (await machine.open())?.position.index ?? 0
            expect(machine.stateHash()).toEqual(hashes[at])
            await applyAll(machine, entries.slice(at, entry.index))
          } else await flushed
        }
        expect(machine.stateHash()).toEqual(hashes[entries.length])
        if (!crashed) writes = seen
      }
      expect(writes).toBe(21)
    },
  )

  test('A2: a counter of increments counts each once, although the member is killed at random', async () => {
    const random = seededRandom('counter')
    const storage = new SimulatedRowStorage()
    const w = await World.open({ storage })
    for (let i = 1; i <= 200; i++) {
      const [value] = (await w.run([OP.nextSequence, null, k('n'), 1])) as [number[]]
      expect(value[1]).toBe(i)
      if (random.chance(0.2)) void w.machine.flush()
      if (random.chance(0.2)) {
        storage.crash(random.pick(['lost', 'kept']))
        await w.reopen()
      }
    }
    expect(w.machine.read([READ.sequence, k('n')])).toBe(200)
  })

  test('nothing is written while an entry waits for stored rows: a crash then leaves whole entries', async () => {
    const storage = new GatedStorage()
    const w = await World.open({ storage })
    await w.run([OP.put, null, k('a'), k('1')], [OP.put, null, k('b'), k('1')])
    await w.machine.flush()
    await w.one([OP.put, null, k('not written yet'), k('1')])
    const whole = w.machine.stateHash()
    const commands = [
      [OP.put, null, k('c'), k('1')],
      [OP.deleteRange, null, k('a'), k('b')],
    ] as const
    storage.holdPages()
    const applying = w.run(...commands)
    const flushing = w.machine.flush()
    w.clock.advance(1_000)
    for (let i = 0; i < 50; i++) await Promise.resolve()
    const crashed = newMachine(new SimulatedRowStorage(storage.disk))
    await crashed.open()
    expect(crashed.position.index).toBeLessThanOrEqual(whole.position.index)
    expect(show(crashed.read([READ.get, k('c')]))).toBeNull()
    storage.letPages()
    expect(await applying).toEqual([4, 1])
    await flushing
    await w.machine.flush()
    expect(w.machine.durable().index).toBe(w.log.length)
  })

  test('MA2: nothing of an entry that failed half-way is ever written, nor are earlier changes without it', async () => {
    const disk = new SimulatedRowDisk()
    const w = await World.open({ storage: new SimulatedRowStorage(disk) })
    await w.machine.flush()
    await w.one([OP.put, null, k('whole'), k('1')])
    const foreign = { session: w.session, number: 90, done: 0, body: pack([99]) }
    await expect(w.raw([w.next([OP.put, null, k('half'), k('1')]), foreign])).rejects.toThrow('does not know')
    w.clock.advance(10_000)
    for (let i = 0; i < 20; i++) await Promise.resolve()
    await w.machine.close()
    expect(disk.keys().map(show)).not.toContain('dhalf')
    w.log.pop()
    await w.reopen()
    expect(w.machine.read([READ.get, k('half')])).toBeNull()
    expect(show(w.machine.read([READ.get, k('whole')]))).toBe('1')
  })
})

describe('a batch that is being written', () => {
  test('a range that is looked up during the write finds its keys, also if it runs after the write', async () => {
    const storage = new GatedStorage()
    const w = await World.open({ storage })
    await w.machine.flush()
    await w.one([OP.put, null, k('flying'), k('1')])
    storage.holdWrites()
    const flushing = w.machine.flush()
    storage.holdPages()
    const removing = w.one([OP.deleteRange, null, k('a'), k('z')])
    storage.letWrites()
    await flushing
    storage.letPages()
    expect(await removing).toBe(1)
    expect(w.machine.read([READ.get, k('flying')])).toBeNull()
  })

  test('its events can be read, however many there are', async () => {
    const storage = new GatedStorage()
    const w = await World.open({ storage })
    const seen: number[] = []
    const put = () => w.one([OP.put, null, k('a'), k('1')])
    storage.holdWrites()
    for (let i = 0; i < 700; i++) await put()
    const flushing = w.machine.flush()
    for (let i = 0; i < 700; i++) await put()
    const watch = w.machine.watch({ start: null, end: null }, 1, {
      events: (events) => seen.push(...events.map(([revision]) => revision)),
      over: (error) => {
        throw error
      },
    })
    watch.more(10_000)
    for (let i = 0; i < 5; i++) w.clock.advance(0)
    expect(seen).toEqual(Array.from({ length: 1_400 }, (_, i) => i + 1))
    storage.letWrites()
    await flushing
  })
})

test('events that were trimmed leave no rows', async () => {
  const disk = new SimulatedRowDisk()
  const w = await World.open({
    storage: new SimulatedRowStorage(disk),
    limits: { events: 40, eventBytes: 1_000_000 },
  })
  const rows = () => disk.keys().filter((key) => key[0] === SPACE.events).length
  for (let i = 0; i < 400; i++) {
    await w.one([OP.put, null, k('a'), i % 50 === 0 ? new Uint8Array(9_000) : k('1')])
    if (i % 7 === 0) await w.machine.flush()
  }
  await w.machine.flush()
  // 40 revisions with 16 in a row, one row more at either end, and a large revision in rows of its own.
  expect(rows()).toBeLessThanOrEqual(6)
  expect(rows()).toBeGreaterThanOrEqual(3)
})

describe('writing', () => {
  test('the overlay is written after 50 ms, or when it is large, one batch at a time; durable is what was synced', async () => {
    const w = await World.open({ limits: { flushBytes: 10_000 } })
    await w.one([OP.put, null, k('a'), k('1')])
    expect(w.machine.durable().index).toBe(0)
    w.clock.advance(49)
    await Promise.resolve()
    expect(w.machine.durable().index).toBe(0)
    w.clock.advance(1)
    await w.machine.flush()
    expect(w.machine.durable().index).toBe(2)
    await w.one([OP.put, null, k('b'), new Uint8Array(10_000)])
    for (let i = 0; i < 5; i++) await Promise.resolve()
    expect(w.machine.durable()).toEqual({ index: 3, term: 1, time: w.time })
  })

  test('a lock that is taken and released between two batches is not written, nor is a key that is put and deleted', async () => {
    const disk = new SimulatedRowDisk()
    const w = await World.open({ storage: new SimulatedRowStorage(disk) })
    await w.run(
      [OP.tryLock, k('l'), null, false, 'me', 1_000, 0, null, null],
      [OP.release, k('l'), 'me', 0, false],
      [OP.put, null, k('a'), k('1')],
      [OP.deleteAll, null, [k('a')]],
    )
    await w.machine.flush()
    expect(show(disk.keys().filter((key) => key[0] === 0x68 || key[0] === 0x64))).toEqual([])
  })

  test('D4, A5: a failed write stops the store; nothing is written again, and calls that wait are rejected', async () => {
    const disk = new SimulatedRowDisk()
    const failures: LatchkeyError[] = []
    const w = await World.open({
      storage: new SimulatedRowStorage(disk),
      failed: (error) => failures.push(error),
    })
    let writes = 0
    disk.fault = (step) => {
      if (step === 'write' && ++writes === 1) throw new Error('EIO')
    }
    await w.one([OP.put, null, k('a'), k('1')])
    await expect(w.machine.flush()).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
    await expect(w.one([OP.put, null, k('b'), k('1')])).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
    await expect(w.machine.flush()).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
    await w.machine.close()
    expect(failures.map(({ code }) => code)).toEqual(['ERR_STORAGE_FAILED'])
    expect(writes).toBe(1)
  })

  test('apply waits for the disk when the overlay has reached its limit', async () => {
    const w = await World.open({ limits: { overlayBytes: 5_000, flushBytes: 4_000 } })
    await w.one([OP.put, null, k('a'), new Uint8Array(6_000)])
    expect(w.machine.durable().index).toBe(2)
  })

  test('CT1: times that go back, and entries out of order, stop the store', async () => {
    for (const wrong of [{ index: 5 }, { time: 1 }]) {
      const w = await World.open()
      const entry = { ...w.entry(new Uint8Array(0), 'empty'), ...wrong }
      await expect(w.apply(entry)).rejects.toThrow()
      await expect(w.machine.flush()).rejects.toThrow()
    }
  })
})

describe('D18: a damaged row', () => {
  test('it is ERR_CORRUPT with its key space when it is read, and stops the member when a command needs it', async () => {
    const disk = new SimulatedRowDisk()
    const w = await World.open({ storage: new SimulatedRowStorage(disk) })
    await w.run(
      [OP.put, null, k('a'), k('1')],
      [OP.put, null, k('b'), k('1')],
      [OP.nextSequence, null, k('s'), 1],
    )
    await w.restart()
    disk.flip(Buffer.from('da'), 22)
    disk.flip(Buffer.from('qs'), 6)
    expect(() => w.machine.read([READ.get, k('a')])).toThrow(
      expect.objectContaining({ code: 'ERR_CORRUPT', message: expect.stringContaining('data "a"') }),
    )
    expect(() => w.machine.read([READ.sequence, k('s')])).toThrow(
      expect.objectContaining({ code: 'ERR_CORRUPT' }),
    )
    await expect(w.machine.read([READ.page, 0, false, null, null, false, 10, 'both'])).rejects.toMatchObject({
      code: 'ERR_CORRUPT',
    })
    expect(show(w.machine.read([READ.get, k('b')]))).toBe('1')
    await expect(w.one([OP.merge, null, k('a'), k('2')])).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
  })

  test('in a space that is kept in memory it is found at the start', async () => {
    const disk = new SimulatedRowDisk()
    const w = await World.open({ storage: new SimulatedRowStorage(disk) })
    await w.one([OP.tryLock, k('l'), null, false, 'me', 1_000, 0, null, null])
    await w.machine.close()
    for (const key of disk.keys()) {
      disk.flip(key, 4)
      await expect(newMachine(w.storage, SMALL_LIMITS).open(), show(key) as string).rejects.toMatchObject({
        code: 'ERR_CORRUPT',
      })
      disk.flip(key, 4)
    }
    expect((await newMachine(w.storage).open())?.position.index).toBe(2)
  })
})
