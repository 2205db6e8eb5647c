// Test: a snapshot contains every key space at one moment, and a damaged snapshot is refused. A crash while a
// member installs a snapshot leaves the old or the new state, and afterwards nothing of the old state
// remains.

import { join } from 'node:path'
import { seededRandom } from '@latchkey/base'
import { OP, READ } from '@latchkey/protocol'
import type { AppliedState, SnapshotReader } from '@latchkey/raft/node'
import { afterAll, describe, expect, test } from 'vitest'
import type { KvMachine } from '../key-value-state-machine.js'
import { classicLevelStorage } from '../storage/classic-level-storage.js'
import { type Files, nodeFiles } from '../storage/file-operations.js'
import { SimulatedRowDisk, SimulatedRowStorage } from '../storage/simulated-row-store.js'
import type { RowStorage, RowStore } from '../storage/row-store-interface.js'
import { Folders } from '../testing/temporary-folders.js'
import { applyAll, hashOfRows, newMachine } from '../testing/apply-entries-and-hash-rows.js'
import { show } from '../testing/results-as-text.js'
import { drawWorkload } from '../testing/random-commands.js'
import { World, k } from '../testing/state-machine-with-own-log.js'
import { readView } from './send-state.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

async function bytesOf(reader: SnapshotReader, piece = 1_000): Promise<Uint8Array[]> {
  const pieces = []
  for (let next = await reader.read(piece); next !== undefined; next = await reader.read(piece))
    pieces.push(Buffer.from(next))
  reader.close()
  return pieces
}

async function install(
  machine: KvMachine,
  state: AppliedState,
  pieces: readonly Uint8Array[],
): Promise<void> {
  const writer = await machine.receive(state)
  for (const piece of pieces) await writer.write(piece)
  await writer.install()
}

/** A member with rows in every key space. */
async function sender(
  seed: number | string = FULL,
): Promise<{ machine: KvMachine; entries: ReturnType<typeof drawWorkload> }> {
  const entries = drawWorkload(seed, 150)
  const machine = newMachine(new SimulatedRowStorage())
  await machine.open()
  await applyAll(machine, entries.slice(0, 100))
  return { machine, entries }
}

/** A seed that gives rows in every space. */
const FULL = 8

describe('S6, S7: what a snapshot contains', () => {
  test.each([FULL, 2, 3, 4])(
    'seed %s: every key space; the receiver goes on as the sender does, answers of retries included',
    async (seed) => {
      const { machine, entries } = await sender(seed)
      const reader = await machine.snapshot()
      const receiver = newMachine(new SimulatedRowStorage())
      await receiver.open()
      await applyAll(receiver, drawWorkload('another life', 50))
      await install(receiver, reader.state, await bytesOf(reader, 1 + seed * 37))
      expect(receiver.stateHash()).toEqual(machine.stateHash())
      expect(receiver.durable()).toEqual(machine.stateHash().position)
      expect(await applyAll(receiver, entries.slice(100))).toEqual(
        await applyAll(machine, entries.slice(100)),
      )
      expect(receiver.stateHash()).toEqual(machine.stateHash())
    },
  )

  test('that state has a row in every space', async () => {
    const { machine } = await sender(FULL)
    const { spaces } = machine.stateHash()
    expect(Object.entries(spaces).filter(([, sum]) => sum.startsWith('0-'))).toEqual([])
  })

  test('locks are sent also if there is no other data (a known defect of RheaKV)', async () => {
    const w = await World.open()
    await w.one([OP.tryLock, k('l'), k('f'), false, 'me', 60_000, 0, 'context', null])
    const reader = await w.machine.snapshot()
    const receiver = newMachine(new SimulatedRowStorage())
    await receiver.open()
    await install(receiver, reader.state, await bytesOf(reader))
    expect(show(receiver.read([READ.lockQuery, null, false, false]))).toEqual([
      ['l', 'me', 'context', 1, 1, 60_000, 0, 0, null, 0],
    ])
  })

  test('S12: a view is of one moment, whatever is applied while it is read, and gives the same bytes for any size of piece', async () => {
    const { machine, entries } = await sender()
    const before = machine.stateHash()
    const [one, two] = [await machine.snapshot(), await machine.snapshot()]
    const first = await one.read(100)
    await applyAll(machine, entries.slice(100))
    await machine.flush()
    const pieces = [first as Uint8Array, ...(await bytesOf(one, 333))]
    expect(Buffer.concat(pieces)).toEqual(Buffer.concat(await bytesOf(two, 1_000_000)))
    const receiver = newMachine(new SimulatedRowStorage())
    await receiver.open()
    await install(receiver, one.state, pieces)
    expect(receiver.stateHash()).toEqual(before)
  })

  test('nothing of the old state is left: released locks, removed keys, sessions, views, watches', async () => {
    const { machine } = await sender()
    const w = await World.open()
    await w.run(
      [OP.put, null, k('old'), k('1')],
      [OP.put, null, k('old2'), k('1')],
      [OP.tryLock, k('old'), null, false, 'me', 3_600_000, 0, null, null],
    )
    const page = (await w.machine.read([READ.page, 0, true, null, null, false, 1, 'both'])) as [number]
    const over: string[] = []
    w.machine.watch({ start: null, end: null }, 1, { events: () => {}, over: ({ code }) => over.push(code) })
    const reader = await machine.snapshot()
    await install(w.machine, reader.state, await bytesOf(reader))
    expect(w.machine.stateHash().spaces).toEqual(machine.stateHash().spaces)
    expect(await hashOfRows((await w.storage.open()) as RowStore)).toEqual(machine.stateHash().spaces)
    await expect(
      w.machine.read([READ.page, page[0], true, null, null, false, 1, 'both']),
    ).rejects.toMatchObject({ code: 'ERR_COMPACTED' })
    expect(over).toEqual(['ERR_COMPACTED'])
  })
})

describe('S14: damage', () => {
  test('any changed byte, any cut, any missing or repeated piece is refused, and the state stays as it was', async () => {
    const { machine } = await sender('damage')
    const reader = await machine.snapshot()
    const whole = Buffer.concat(await bytesOf(reader))
    const storage = new SimulatedRowStorage()
    const receiver = newMachine(storage)
    await receiver.open()
    await applyAll(receiver, drawWorkload('mine', 20))
    const before = receiver.stateHash()
    const refused = async (bytes: Uint8Array) => {
      const parts = [bytes.subarray(0, 5_000), bytes.subarray(5_000)]
      await expect(install(receiver, reader.state, parts)).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
      expect(receiver.stateHash()).toEqual(before)
      expect(storage.disk.leftovers).toBe(0)
    }
    const random = seededRandom('damage')
    for (let i = 0; i < 150; i++) {
      const changed = Buffer.from(whole)
      const at = random.between(0, whole.length)
      changed[at] = (changed[at] as number) ^ (1 << random.between(0, 8))
      await refused(changed)
      await refused(whole.subarray(0, random.between(0, whole.length)))
      const from = random.between(0, whole.length - 10)
      await refused(Buffer.concat([whole.subarray(0, from), whole.subarray(from + random.between(1, 10))]))
    }
    await refused(Buffer.concat([whole, whole.subarray(0, 20)]))
    await install(receiver, reader.state, [whole])
    expect(receiver.stateHash()).toEqual(machine.stateHash())
  })

  test('a state that is not the announced one is refused', async () => {
    const { machine } = await sender()
    const reader = await machine.snapshot()
    const { position, membership } = reader.state
    const receiver = newMachine(new SimulatedRowStorage())
    await receiver.open()
    const other = { position: { ...position, index: position.index + 1 }, membership }
    await expect(install(receiver, other, await bytesOf(reader))).rejects.toMatchObject({
      code: 'ERR_CORRUPT',
    })
  })

  test('S14: a damaged row of the sender ends the stream and is not sent', async () => {
    const disk = new SimulatedRowDisk()
    const w = await World.open({ storage: new SimulatedRowStorage(disk) })
    await w.one([OP.put, null, k('a'), k('1')])
    await w.restart()
    disk.flip(Buffer.from('da'), 10)
    const reader = await w.machine.snapshot()
    await expect(bytesOf(reader)).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
  })
})

test('a view that cannot be sent, because its meta row is missing, is closed', async () => {
  let closed = 0
  const view = { page: async () => ({ rows: [], end: true }), close: () => void closed++ }
  await expect(readView(view)).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
  expect(closed).toBe(1)
})

describe('S10, S16: aborted and begun again', () => {
  test('a half received state leaves nothing; two states one after the other are installed', async () => {
    const { machine, entries } = await sender()
    const storage = new SimulatedRowStorage()
    const receiver = newMachine(storage)
    await receiver.open()
    const first = await machine.snapshot()
    const pieces = await bytesOf(first)
    const half = await receiver.receive(first.state)
    await half.write(pieces[0] as Uint8Array)
    await half.abort()
    expect(storage.disk.leftovers).toBe(0)
    await expect(half.write(pieces[1] as Uint8Array)).rejects.toMatchObject({ code: 'ERR_ABORTED' })
    await install(receiver, first.state, pieces)
    await applyAll(machine, entries.slice(100))
    const second = await machine.snapshot()
    await install(receiver, second.state, await bytesOf(second))
    expect(receiver.stateHash()).toEqual(machine.stateHash())
  })
})

describe('S4: a crash at every step of an install', () => {
  test('in memory: the old state or the new one, never a mixture', async () => {
    const { machine } = await sender()
    const reader = await machine.snapshot()
    const pieces = await bytesOf(reader)
    const outcomes = new Set<string>()
    for (let stopAt = 1; ; stopAt++) {
      const disk = new SimulatedRowDisk()
      const storage = new SimulatedRowStorage(disk)
      const receiver = newMachine(storage)
      await receiver.open()
      await applyAll(receiver, drawWorkload('mine', 20))
      await receiver.flush()
      const before = receiver.stateHash()
      let steps = 0
      disk.fault = () => {
        if (++steps === stopAt) throw new Error('the power is gone')
      }
      const done = await install(receiver, reader.state, pieces).then(
        () => true,
        () => false,
      )
      disk.fault = () => {}
      storage.crash()
      const again = newMachine(storage)
      await again.open()
      const isNew = again.position.index === reader.state.position.index
      expect(again.stateHash()).toEqual(isNew ? machine.stateHash() : before)
      outcomes.add(isNew ? 'new' : 'old')
      if (done) break
    }
    expect([...outcomes].sort()).toEqual(['new', 'old'])
  })

  test('on a disk: every list, folder, sync, rename and removal', async () => {
    const { machine } = await sender()
    const reader = await machine.snapshot()
    const pieces = await bytesOf(reader)
    let stops = 0
    const outcomes = new Set<string>()
    for (let stopAt = 1; ; stopAt++) {
      const dir = join(folders.make(), 'state')
      const { before, done } = await crashedInstall(dir, stopAt, reader.state, pieces)
      const again = newMachine(classicLevelStorage(dir))
      await again.open()
      const isNew = again.position.index === reader.state.position.index
      expect(again.stateHash()).toEqual(isNew ? machine.stateHash() : before)
      expect((await nodeFiles.list(dir)).length).toBe(1)
      outcomes.add(isNew ? 'new' : 'old')
      await again.close()
      if (done) break
      stops++
    }
    expect(stops).toBeGreaterThanOrEqual(12)
    expect([...outcomes].sort()).toEqual(['new', 'old'])
  })
})

async function crashedInstall(
  dir: string,
  stopAt: number,
  state: AppliedState,
  pieces: readonly Uint8Array[],
) {
  const files = new StoppingFiles()
  const storage: RowStorage = classicLevelStorage(dir, files)
  const receiver = newMachine(storage)
  await receiver.open()
  await applyAll(receiver, drawWorkload('mine', 20))
  await receiver.flush()
  const before = receiver.stateHash()
  files.stopAt = stopAt
  const done = await install(receiver, state, pieces).then(
    () => true,
    () => false,
  )
  await receiver.close()
  return { before, done }
}

/** After `stopAt` steps the process has ended: that step and all later ones only fail. */
class StoppingFiles implements Files {
  stopAt = Number.POSITIVE_INFINITY
  #steps = 0

  #step<T>(run: () => Promise<T>): Promise<T> {
    if (this.stopAt === Number.POSITIVE_INFINITY) return run()
    return ++this.#steps >= this.stopAt ? Promise.reject(new Error('the power is gone')) : run()
  }
  list = (folder: string) => this.#step(() => nodeFiles.list(folder))
  make = (folder: string) => this.#step(() => nodeFiles.make(folder))
  rename = (from: string, to: string) => this.#step(() => nodeFiles.rename(from, to))
  sync = (path: string) => this.#step(() => nodeFiles.sync(path))
  remove = (path: string) => this.#step(() => nodeFiles.remove(path))
}
