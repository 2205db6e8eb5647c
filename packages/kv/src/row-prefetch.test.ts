// Test: while a put is written into the log, the state machine reads the previous row, and need not read it
// again when the put is applied.

import { encodeCommand, OP, READ, type Command } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { SPACE } from './keyspaces.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { RowStore } from './storage/row-store-interface.js'
import { k, World } from './testing/state-machine-with-own-log.js'

/** Counts how often the store is searched for the row of a key. */
class AskedStorage extends SimulatedRowStorage {
  asked = 0

  override async open(): Promise<RowStore | undefined> {
    const store = await super.open()
    if (store === undefined) return undefined
    const get = (key: Uint8Array) => {
      if (key[0] === SPACE.data) this.asked++
      return store.get(key)
    }
    return {
      get,
      write: (batch) => store.write(batch),
      view: () => store.view(),
      compact: () => store.compact(),
      close: () => store.close(),
    }
  }
}

const put = (key: string, value: string): Command => [OP.put, null, k(key), k(value)]

/** A member that has read none of its 20 keys yet; reading ahead waits until `look` is called. */
async function worldOfRows() {
  const storage = new AskedStorage()
  const later: (() => void)[] = []
  const world = await World.open({ storage, later: (run) => void later.push(run) })
  for (let i = 0; i < 20; i++) await world.run(put(`k${i}`, 'old'))
  await world.machine.flush()
  await world.restart()
  storage.asked = 0
  const look = () => {
    for (const run of later.splice(0)) run()
  }
  return { world, storage, later, look }
}

/** The row in the store: [createRevision, modRevision, version, value]. */
const entryOf = (world: World, key: string) =>
  (world.machine.read([READ.getEntry, k(key)]) as readonly [number, readonly number[]])[1]

test('the row that a put needs is read once, before the put is applied', async () => {
  const { world, storage, look } = await worldOfRows()
  await world.run(put('k0', 'new'))
  expect(storage.asked).toBe(1)
  const [one, other] = [put('k1', 'new'), put('none', 'new')]
  for (const command of [one, other]) world.machine.expectPut(encodeCommand(command))
  expect(storage.asked).toBe(1)
  look()
  expect(storage.asked).toBe(3)
  await world.run(one, other)
  expect(storage.asked).toBe(3)
  const entry = (key: string) => entryOf(world, key)
  const shown = ([created, , version]: readonly number[]) => [
    (created as number) < world.machine.revision - 1,
    version,
  ]
  expect(shown(entry('k1'))).toEqual([true, 2])
  expect(shown(entry('none'))).toEqual([false, 1])
})

test('rows that are not written yet are not read ahead, and a row that was written later replaces one that was read ahead', async () => {
  const { world, storage, look } = await worldOfRows()
  await world.run(put('k0', 'first'), put('new', 'first'))
  const before = storage.asked
  world.machine.expectPut(encodeCommand(put('k0', 'second')))
  world.machine.expectPut(encodeCommand(put('new', 'second')))
  look()
  expect(storage.asked).toBe(before)
  await world.run(put('k3', 'x'))
  world.machine.expectPut(encodeCommand(put('k2', 'second')))
  look()
  await world.run([OP.deleteAll, null, [k('k2')]])
  await world.machine.flush()
  await world.run(put('k2', 'anew'))
  expect(entryOf(world, 'k2')[2]).toBe(1)
})

test('no keys of puts are kept while no row has to be read from the store, nor by a closed member', async () => {
  const { world, later } = await worldOfRows()
  world.machine.expectPut(encodeCommand(put('k0', 'new')))
  expect(later).toHaveLength(0)
  await world.machine.close()
  world.machine.expectPut(encodeCommand(put('k0', 'new')))
  expect(later).toHaveLength(0)
})
