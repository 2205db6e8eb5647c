// Test: the parts of the world: heap, clocks, disk, network.

import { seededRandom } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '@latchkey/raft/memory'
import { SimDisk } from './disk.js'
import { EventHeap } from '@latchkey/raft/memory'
import { type Delivery, Network, type NetworkOptions } from './network.js'

function drain(heap: EventHeap, time: { now: number }): void {
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) {
    time.now = next.at
    next.run(next.payload as never)
  }
}

test('the heap gives events in order of time, then of their coming', () => {
  const heap = new EventHeap()
  const random = seededRandom('heap')
  const expected = Array.from({ length: 500 }, (_, i) => ({ at: random.between(0, 50), i }))
  const seen: { at: number; i: number }[] = []
  for (const item of expected)
    heap.push(item.at, (payload: { at: number; i: number }) => seen.push(payload), item)
  drain(heap, { now: 0 })
  expect(seen).toEqual([...expected].sort((a, b) => a.at - b.at || a.i - b.i))
})

describe('clocks', () => {
  test('run at their rate, and do not jump when the rate changes', () => {
    const clock = new VirtualClock(1.05, 100, 0)
    expect(clock.read(1_000_000)).toBeCloseTo(100 + 1050)
    clock.drift(1_000_000, 0.95)
    expect(clock.read(1_000_000)).toBeCloseTo(1150)
    expect(clock.read(2_000_000)).toBeCloseTo(2100)
  })

  test('T8: a suspended machine: the monotonic clock stands still, uptime and wall go on', () => {
    const clock = new VirtualClock(1, 0, 5)
    clock.suspend(1_000_000)
    expect(clock.instant(3_000_000)).toEqual({ hr: 1000, up: 3000, wall: 3005 })
    clock.resume(3_000_000)
    expect(clock.instant(4_000_000)).toEqual({ hr: 2000, up: 4000, wall: 4005 })
  })

  test('T3: steps', () => {
    const clock = new VirtualClock(1, 0, 0)
    clock.stepWall(-3_600_000)
    expect(clock.instant(1_000_000)).toEqual({ hr: 1000, up: 1000, wall: 1000 - 3_600_000 })
    clock.step(1_000_000, 500)
    expect(clock.read(1_000_000)).toBe(1500)
    expect(clock.steps).toEqual([{ at: 1_000_000, millis: 500 }])
  })
})

describe('disk', () => {
  const setup = (seed = 1) => {
    const heap = new EventHeap()
    const time = { now: 0 }
    const options = { syncBase: 100, syncTail: 0, longest: 1e9 }
    const disk = new SimDisk(heap, () => time.now, seededRandom(seed), options)
    return { heap, time, disk }
  }
  const bytes = (...values: number[]) => Uint8Array.from(values)
  /** A file whose name is durable. */
  const named = (seed?: number) => {
    const all = setup(seed)
    all.disk.write('f', 0, bytes(1, 2, 3))
    all.disk.sync('f', () => {})
    all.disk.syncFolder(() => {})
    drain(all.heap, all.time)
    return all
  }

  test('what a returned sync covered survives a power loss', () => {
    for (let seed = 0; seed < 50; seed++) {
      const { disk } = named(seed)
      disk.write('f', 3, bytes(4, 5))
      disk.powerLoss()
      expect([...(disk.read('f') ?? [])].slice(0, 3)).toEqual([1, 2, 3])
    }
  })

  test('D9: of the unsynced any part may survive: nothing, all, or torn', () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 200; seed++) {
      const { disk } = named(seed)
      disk.write('f', 3, bytes(4, 5))
      disk.write('f', 5, bytes(6))
      disk.powerLoss()
      seen.add([...(disk.read('f') ?? [])].slice(3).join())
    }
    for (const outcome of ['', '4', '4,5', '4,5,6', '0,0,6']) expect(seen, outcome).toContain(outcome)
  })

  test('D7: a name is lost without a sync of its folder', () => {
    const outcomes = new Set<boolean>()
    for (let seed = 0; seed < 50; seed++) {
      const { disk, heap, time } = setup(seed)
      disk.write('f', 0, bytes(1))
      disk.sync('f', () => {})
      drain(heap, time)
      disk.powerLoss()
      outcomes.add(disk.has('f'))
    }
    expect(outcomes).toEqual(new Set([true, false]))
  })

  test('a process that dies loses nothing that the machine cached', () => {
    const { disk } = setup()
    disk.write('f', 0, bytes(1))
    disk.kill()
    expect(disk.read('f')).toEqual(bytes(1))
  })

  test('a sync covers what was written before it, not after', () => {
    for (let seed = 0; seed < 50; seed++) {
      const { disk, heap, time } = named(seed)
      disk.write('f', 3, bytes(4))
      disk.sync('f', () => {})
      disk.write('f', 4, bytes(5))
      drain(heap, time)
      expect(disk.durableLength('f')).toBe(4)
    }
  })

  test('the completions of a dead process are never told', () => {
    const { disk, heap, time } = named()
    let told = false
    disk.sync('f', () => {
      told = true
    })
    disk.kill()
    drain(heap, time)
    expect(told).toBe(false)
  })

  test('D4: a failing disk says so', () => {
    const { disk, heap, time } = named()
    let ok: boolean | undefined
    disk.sync('f', (result) => {
      ok = result
    })
    disk.failing = true
    drain(heap, time)
    expect(ok).toBe(false)
  })

  test('an armed crash point is met once, at its step', () => {
    const { disk, heap, time } = named()
    const met: number[] = []
    disk.onCrashPoint = () => met.push(time.now)
    disk.armCrash('synced', 1)
    for (let i = 0; i < 3; i++) disk.sync('f', () => {})
    drain(heap, time)
    expect(met.length).toBe(1)
  })
})

describe('network', () => {
  const options: NetworkOptions = { base: 10, tail: 0, loss: 0, duplicate: 0, late: 0, inOrder: false }
  const setup = (changed: Partial<NetworkOptions> = {}) => {
    const heap = new EventHeap()
    const time = { now: 0 }
    const got: Delivery[] = []
    const network = new Network(
      heap,
      () => time.now,
      seededRandom('net'),
      { ...options, ...changed },
      (delivery) => got.push(delivery),
    )
    return { heap, time, network, got, drain: () => drain(heap, time) }
  }

  test('a cut is one way, loses what is on its way, and two cuts need two mends', () => {
    const { network, got, drain: run } = setup()
    network.send(0, 1, 'under way')
    network.cut(0, 1)
    network.cut(0, 1)
    network.send(1, 0, 'back')
    run()
    network.mend(0, 1)
    network.send(0, 1, 'still cut')
    network.mend(0, 1)
    network.send(0, 1, 'mended')
    run()
    expect(got.map(({ message }) => message)).toEqual(['back', 'mended'])
  })

  test('a clogged link delivers all at once when it is free', () => {
    const { network, got, drain: run } = setup()
    network.clog(0, 1)
    for (let i = 0; i < 3; i++) network.send(0, 1, i)
    run()
    expect(got).toEqual([])
    network.unclog(0, 1)
    run()
    expect(got.map(({ message }) => message)).toEqual([0, 1, 2])
  })

  test('in order, or not', () => {
    const order = (inOrder: boolean) => {
      const { network, got, drain: run } = setup({ tail: 10_000, inOrder })
      for (let i = 0; i < 200; i++) network.send(0, 1, i)
      run()
      return got.map(({ message }) => message as number)
    }
    expect(order(true)).toEqual([...order(true)].sort((a, b) => a - b))
    expect(order(false)).not.toEqual([...order(false)].sort((a, b) => a - b))
  })

  test('loss and duplicates come at about their rates; healing ends both', () => {
    const { network, got, drain: run } = setup({ loss: 0.3, duplicate: 0.2, late: 1_000_000 })
    for (let i = 0; i < 5_000; i++) network.send(0, 1, i)
    run()
    expect(got.length).toBeGreaterThan(5_000 * 0.7 * 1.15)
    expect(got.length).toBeLessThan(5_000 * 0.7 * 1.25)
    got.length = 0
    network.heal()
    for (let i = 0; i < 100; i++) network.send(0, 1, i)
    run()
    expect(got.length).toBe(100)
  })
})
