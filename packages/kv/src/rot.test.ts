// Test: a whole member on a disk that damages bytes (D17, D18). The member refuses to start, or it starts
// with the state after some entry and applies the rest of the log. Then it stops with ERR_CORRUPT, or it ends
// with exactly the right state.

import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'
import { ClassicLevel } from 'classic-level'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StateDigest } from './state-row-digests.js'
import { SPACE_NAMES } from './keyspaces.js'
import { classicLevelStorage } from './storage/classic-level-storage.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { StateHash } from './kv-store-types.js'
import { damage } from './testing/damage-store-files.js'
import { Folders } from './testing/temporary-folders.js'
import { applyAll, hashesOf, newMachine } from './testing/apply-entries-and-hash-rows.js'
import { drawWorkload } from './testing/random-commands.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

/** With LATCHKEY_FULL_SWEEP=1 this takes some minutes. */
const FLIPS = process.env['LATCHKEY_FULL_SWEEP'] === '1' ? 2_000 : 40
const ENTRIES = drawWorkload('rot', 120)
/** The log has more entries than are stored. */
const STORED = 100

let image: string
let hashes: readonly StateHash[]
let last: Record<string, string>

/** Half of the rows are in a table of a lower level, the rest in a log and in tables above it. */
beforeAll(async () => {
  image = join(folders.make(), 'state')
  for (const [from, to] of [
    [0, 40],
    [40, 70],
    [70, STORED],
  ] as const) {
    const machine = newMachine(classicLevelStorage(image))
    await machine.open()
    for (let i = from; i < to; i += 3) {
      await applyAll(machine, ENTRIES.slice(i, Math.min(i + 3, to)))
      await machine.flush()
    }
    await machine.close()
    if (from > 0) continue
    const level = new ClassicLevel(join(image, 'rows-1'))
    await level.open()
    await level.compactRange('\0', '\xff')
    await level.close()
  }
  hashes = await hashesOf(new SimulatedRowStorage(), ENTRIES)
  const machine = newMachine(new SimulatedRowStorage())
  await machine.open()
  await applyAll(machine, ENTRIES)
  last = await rowsOf((await machine.digestAt(ENTRIES.length)) as StateDigest)
})

async function rowsOf(frozen: StateDigest): Promise<Record<string, string>> {
  const sums: Record<string, string> = {}
  for (const space of SPACE_NAMES) sums[space] = (await frozen.digest(space, undefined, undefined)).sum
  frozen.close()
  return sums
}

type Fate = 'refused' | 'stopped' | 'whole' | 'older'

/** Throws if the state is one that no part of the log gives. */
async function fateOf(dir: string): Promise<Fate> {
  const machine = newMachine(classicLevelStorage(dir))
  let opened = false
  try {
    const from = (await machine.open())?.position.index ?? 0
    opened = true
    expect(machine.stateHash()).toEqual(hashes[from])
    await applyAll(machine, ENTRIES.slice(from))
    expect(machine.stateHash()).toEqual(hashes[ENTRIES.length])
    expect(await rowsOf((await machine.digestAt(ENTRIES.length)) as StateDigest)).toEqual(last)
    return from === STORED ? 'whole' : 'older'
  } catch (error) {
    if (isLatchkeyError(error) && error.code === 'ERR_CORRUPT') return opened ? 'stopped' : 'refused'
    throw error
  } finally {
    await machine.close()
  }
}

test(
  'D18, D17: the member refuses, stops, or has exactly the state that the log gives',
  async () => {
    const random = seededRandom('a rotten member')
    const copy = join(folders.make(), 'state')
    const seen = { refused: 0, stopped: 0, whole: 0, older: 0 }
    cpSync(image, copy, { recursive: true })
    expect(await fateOf(copy)).toBe('whole')
    for (let i = 0; i < FLIPS; i++) {
      rmSync(copy, { recursive: true })
      cpSync(image, copy, { recursive: true })
      const where = damage(join(copy, 'rows-1'), random)
      try {
        seen[await fateOf(copy)]++
      } catch (error) {
        throw new Error(`flip ${i}, ${where}`, { cause: error })
      }
    }
    expect(seen.refused, JSON.stringify(seen)).toBeGreaterThan(FLIPS / 4)
  },
  60_000 + FLIPS * 1_000,
)
