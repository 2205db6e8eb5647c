// Test: a call is applied once and its caller gets the right outcome, whatever happens to links and leaders.

import { utf8 } from '@latchkey/base'
import { OP, encodeCommand } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type Faults, NO_FAULTS } from '../testing/fake-cluster.js'
import { type Fate, follow, scene } from '../testing/stores-on-fake-cluster.js'

/** A busy machine may take its time; nothing here depends on it. */
const ROOM = 60_000

const STORM: Faults = {
  closeBefore: 0.05,
  closeAfter: 0.05,
  unknownApplied: 0.05,
  unknownDropped: 0.05,
  late: 0.05,
  never: 0.05,
  latency: 3,
}

interface Told {
  readonly id: string
  readonly seen: { fate: Fate<unknown>; told: number }
}

/** Every id that was merged, as often as it was. */
const merged = (value: string | undefined) => (value === undefined ? [] : value.split(','))

async function storm(seed: number, faults: Faults) {
  const { world, cluster, store, random } = scene(seed, ['a', 'b', 'c'])
  const client = store({ sessionLife: 3_000 })
  const told: Told[] = []
  cluster.faults = { ...faults }
  const work = random.fork('work')
  for (let step = 0; step < 120; step++) {
    const id = `${step}`
    const options = work.chance(0.3) ? { timeout: work.between(1, 300) } : { timeout: 4_000 }
    const stop = new AbortController()
    const signal = work.chance(0.1) ? stop.signal : undefined
    told.push({ id, seen: follow(client.merge('log', id, { ...options, signal })) })
    if (signal) world.after(work.between(0, 60), () => stop.abort(new Error('enough')))
    if (work.chance(0.05)) cluster.elect(work.chance(0.5) ? undefined : work.pick(cluster.urls))
    if (work.chance(0.05)) for (const link of [...cluster.links]) link.break()
    if (work.chance(0.3)) await world.run(work.between(0, work.chance(0.05) ? 5_000 : 40))
    if (cluster.leader === undefined && work.chance(0.3)) cluster.elect(work.pick(cluster.urls))
  }
  cluster.elect('a')
  cluster.faults = { ...NO_FAULTS }
  await world.run(20_000)
  return { world, cluster, client, told }
}

test(
  'C1 C2 C3 C4 C5 A7: 60 storms: every call is applied at most once, and never otherwise than told',
  async () => {
    let calls = 0
    let unknown = 0
    for (let seed = 1; seed <= 60; seed++) {
      const { cluster, client, told } = await storm(seed, STORM)
      const ids = merged(cluster.machine.data.get('log'))
      const counts = new Map<string, number>()
      for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
      for (const { id, seen } of told) {
        const times = counts.get(id) ?? 0
        calls++
        expect(seen.told, `seed ${seed}: call ${id} was told once`).toBe(1)
        expect(times, `seed ${seed}: call ${id} was applied at most once`).toBeLessThanOrEqual(1)
        if (seen.fate.is === 'ok') expect(times, `seed ${seed}: call ${id} was acknowledged`).toBe(1)
        else if (seen.fate.is === 'failed' && seen.fate.error.outcome === 'not-applied')
          expect(times, `seed ${seed}: call ${id} was said not to be applied: ${seen.fate.error.code}`).toBe(
            0,
          )
        else unknown++
      }
      expect(cluster.machine.most).toBeLessThanOrEqual(1024)
      await client.close()
    }
    expect(calls).toBe(60 * 120)
    // The storm is one, and not all is lost in it.
    expect(unknown).toBeGreaterThan(100)
    expect(unknown).toBeLessThan(calls / 2)
  },
  ROOM,
)

test(
  'C2: awaited calls are applied in their order, whatever happens between them',
  async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { world, cluster, store, random } = scene(`order ${seed}`, ['a', 'b'])
      const client = store()
      cluster.faults = { ...STORM, late: 0.1 }
      const acknowledged: string[] = []
      const done = (async () => {
        for (let step = 0; step < 30; step++) {
          await client.merge('log', `${step}`, { timeout: 60_000 }).then(
            () => acknowledged.push(`${step}`),
            () => {},
          )
        }
        return true
      })()
      const seen = follow(done)
      await world.until(() => {
        if (random.chance(0.01)) for (const link of [...cluster.links]) link.break()
        return seen.told > 0
      }, 600_000)
      const ids = merged(cluster.machine.data.get('log'))
      expect(ids.filter((id) => acknowledged.includes(id))).toEqual(acknowledged)
      expect([...ids].sort((x, y) => Number(x) - Number(y))).toEqual(ids)
      await client.close()
    }
  },
  ROOM,
)

test(
  'what was given up stays as it is: after settled() a call is not applied any more',
  async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const { world, cluster, store } = scene(`settled ${seed}`, ['a', 'b'])
      const client = store()
      cluster.faults = { ...NO_FAULTS, late: 0.5, closeBefore: 0.1, unknownDropped: 0.2 }
      const found: { id: string; before: number }[] = []
      const count = (id: string) =>
        merged(cluster.machine.data.get('log')).filter((other) => other === id).length
      for (let step = 0; step < 20; step++) {
        const id = `${step}`
        const call = client.engine.start(
          { what: 'command', body: mergeBody(id) },
          { timeout: 50, signal: undefined },
          (result) => result,
          () => {},
          () => void client.engine.whenFinal(call).then(() => found.push({ id, before: count(id) })),
        )
        await world.run(40)
      }
      cluster.faults = { ...NO_FAULTS }
      await world.run(30_000)
      for (const { id, before } of found) expect(count(id), `seed ${seed}: call ${id}`).toBe(before)
      await client.close()
    }
  },
  ROOM,
)

const mergeBody = (id: string) => encodeCommand([OP.merge, null, utf8('log'), utf8(id)])
