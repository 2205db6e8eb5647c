// Test: circles of flows that wait for each other: each row of deadlock-detection.ts, and random flows
// compared with a search that tries everything.

import { utf8 } from '@latchkey/base'
import { OP, type CommandOf } from '@latchkey/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AskOptions, askCommand } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { tryLock } from './acquire.js'
import { tryLockAll } from './acquire-all.js'
import { releaseAll } from './release.js'

const world = (): MapTransaction => {
  const tx = new MapTransaction()
  for (const session of [1, 2]) tx.openSession(session, 60_000)
  return tx
}
type Told = 'held' | 'waits' | 'refused' | readonly string[]

/** Asks and waits; of a circle it tells "flow key" for each link. */
function waitFor(tx: MapTransaction, id: string, key: string, options: AskOptions = {}): Told {
  const answer = tryLock(tx, options.session ?? 1, askCommand(id, { wait: 0, ...options, key: utf8(key) }))
  if (typeof answer === 'string') throw new Error(answer)
  const [owner, queued, obstacle] = answer
  if (obstacle?.[0] === 'circle') return drawn(obstacle[1])
  return queued ? 'waits' : owner[6] < 4 ? 'held' : 'refused'
}
function waitForAll(tx: MapTransaction, id: string, keys: readonly string[], flow: string): Told {
  const list = keys.map((key) => [utf8(key), 0] as const)
  const ask: CommandOf<'tryLockAll'> = [OP.tryLockAll, id, list, null, 1_000, null, 0, [flow, []]]
  const answer = tryLockAll(tx, 1, ask)
  if (typeof answer === 'string') throw new Error(answer)
  if (answer[0] === 'circle') return drawn(answer[2] ?? [])
  return answer[0] === 'queued' ? 'waits' : answer[0] === 'held' ? 'held' : 'refused'
}
const drawn = (links: readonly (readonly [string, Uint8Array])[]) =>
  links.map(([flow, key]) => `${flow} ${Buffer.from(key)}`)

const SHARED = { share: [1, 0] } as const
const permits = (wanted: number, of: number) => ({ share: [wanted, of] }) as const
const semaphore = '\xff\x01s'
const semaphoreKey = Buffer.from(semaphore, 'latin1')
const waitForPermits = (tx: MapTransaction, id: string, wanted: number, of: number, flow?: string): Told => {
  const command = askCommand(id, {
    wait: 0,
    key: semaphoreKey,
    ...permits(wanted, of),
    ...(flow && { flow }),
  })
  const answer = tryLock(tx, 1, command)
  if (typeof answer === 'string') throw new Error(answer)
  if (answer[2]?.[0] === 'circle') return answer[2][1].map(([name]) => name)
  return answer[1] ? 'waits' : 'held'
}

describe('K82: a request that would close a circle of flows is refused, and changes nothing', () => {
  test('two flows, two locks: the second one to ask is told the circle, each with the key it waits for', () => {
    const tx = world()
    waitFor(tx, '1', 'a', { flow: 'F' })
    waitFor(tx, '2', 'b', { flow: 'G' })
    expect(waitFor(tx, '3', 'b', { flow: 'F' })).toBe('waits')
    expect(waitFor(tx, '4', 'a', { flow: 'G' })).toEqual(['G a', 'F b'])
    expect(tx.queue(utf8('a'))).toEqual([])
  })

  test('three flows; whoever names none, and who does not wait, is not affected', () => {
    const tx = world()
    for (const [flow, key] of ['Fa', 'Gb', 'Hc'].map((one) => [...one] as [string, string]))
      waitFor(tx, key, key, { flow })
    expect(waitFor(tx, '1', 'b', { flow: 'F' })).toBe('waits')
    expect(waitFor(tx, '2', 'c', { flow: 'G' })).toBe('waits')
    expect(waitFor(tx, '3', 'a', { flow: 'H', wait: null })).toBe('refused')
    expect(waitFor(tx, '4', 'a')).toBe('waits')
    expect(waitFor(tx, '5', 'a', { flow: 'H' })).toEqual(['H a', 'F b', 'G c'])
  })

  test('a flow that waits for its own hold of the same session; not for one of another session', () => {
    const tx = world()
    waitFor(tx, '1', 'a', { flow: 'F', ...SHARED })
    expect(waitFor(tx, '2', 'a', { flow: 'F' })).toEqual(['F a'])
    expect(waitFor(tx, '3', 'a', { flow: 'F', session: 2 })).toBe('waits')
  })

  test('within a hold: the ids of the holds stand for the flow; its own key it may wait for', () => {
    const tx = world()
    waitFor(tx, 'outer', 'a')
    waitFor(tx, 'other', 'b')
    expect(waitFor(tx, '1', 'b', { within: ['inner', 'outer'] })).toBe('waits')
    expect(waitFor(tx, '2', 'a', { within: ['other'] })).toEqual(['other a', 'inner b'])
    expect(waitFor(tx, '3', 'a', { within: ['outer'] })).toBe('waits')
  })

  test('parts of one withLock that run beside each other are not held up by each other', () => {
    const tx = world()
    waitFor(tx, 'outer', 'o')
    waitFor(tx, 'left', 'a', { within: ['outer'] })
    waitFor(tx, 'other', 'b')
    expect(waitFor(tx, '1', 'a', { within: ['other'] })).toBe('waits')
    // The right part waits for other, which waits for the left part, which can go on.
    expect(waitFor(tx, '2', 'b', { within: ['right', 'outer'] })).toBe('waits')
    expect(waitFor(tx, '3', 'b', { within: ['left', 'outer'] })).toEqual(['left b', 'other a'])
  })

  test('behind who waits: an earlier writer is in the way of a reader, an earlier reader is not', () => {
    const tx = world()
    waitFor(tx, '1', 'a', { flow: 'F', ...SHARED })
    waitFor(tx, '2', 'b', { flow: 'G' })
    expect(waitFor(tx, '3', 'a')).toBe('waits')
    expect(waitFor(tx, '4', 'a', { flow: 'G', ...SHARED })).toBe('waits')
    expect(waitFor(tx, '5', 'b', { flow: 'F' })).toEqual(['F b', 'G a', '3 a'])
    const two = world()
    waitFor(two, '1', 'a')
    waitFor(two, '2', 'b', { flow: 'G' })
    expect(waitFor(two, '3', 'a', { flow: 'G', ...SHARED })).toBe('waits')
    expect(waitFor(two, '4', 'a', { flow: 'H', ...SHARED })).toBe('waits')
  })

  test('a set: it waits for every key, and is passed while it waits for what came before it', () => {
    const tx = world()
    waitFor(tx, '1', 'a', { flow: 'F' })
    waitFor(tx, '2', 'c', { flow: 'G' })
    expect(waitForAll(tx, 's', ['a', 'b'], 'G')).toBe('waits')
    expect(waitFor(tx, '3', 'b', { flow: 'F' })).toBe('held')
    expect(waitFor(tx, '4', 'c', { flow: 'F' })).toEqual(['F c', 'G a'])
    expect(waitForAll(tx, 't', ['c', 'd'], 'F')).toEqual(['F c', 'G a'])
  })

  test('permits: only when those who could give them back are all stuck', () => {
    const tx = world()
    expect(waitForPermits(tx, '1', 1, 2, 'F')).toBe('held')
    expect(waitForPermits(tx, '2', 1, 2, 'G')).toBe('held')
    waitFor(tx, '3', 'a', { flow: 'H' })
    expect(waitForPermits(tx, '4', 1, 2, 'H')).toBe('waits')
    expect(waitFor(tx, '5', 'a', { flow: 'G' })).toBe('waits')
    expect(waitFor(tx, '6', 'a', { flow: 'F' })).toEqual(['F a', expect.stringContaining('H')])
  })

  test('a hold whose lease is over is in nobody’s way, and a flow whose session ended is stuck no more', () => {
    const tx = world()
    tx.now = 1
    waitFor(tx, '1', 'a', { flow: 'F', session: 2 })
    waitFor(tx, '2', 'b', { flow: 'G' })
    waitFor(tx, '3', 'b', { flow: 'F', session: 2 })
    tx.end(2)
    expect(waitFor(tx, '4', 'a', { flow: 'G' })).toBe('waits')
  })

  test('who asks again keeps its place, and the search of a thousand steps ends', () => {
    const tx = world()
    waitFor(tx, '1', 'a', { flow: 'F' })
    waitFor(tx, '2', 'b', { flow: 'G' })
    waitFor(tx, '3', 'b', { flow: 'F' })
    expect(waitFor(tx, '3', 'b', { flow: 'F' })).toBe('waits')
    for (let i = 0; i < 999; i++) waitFor(tx, `x${i}`, 'a')
    expect(waitFor(tx, '4', 'a', { flow: 'G' })).toBe('waits')
  })
})

/** One flow of the model: it does one thing after the other. */
interface Flow {
  readonly name: string
  readonly held: (readonly [string, string])[]
  waiting: (readonly [string, string])[]
}
const KEYS = ['a', 'b', 'c', 'd']
const bytesOf = (key: string) => Buffer.from(key, 'latin1')
const step = fc.record({
  who: fc.nat(4),
  what: fc.constantFrom('one', 'one', 'one', 'shared', 'permit', 'set', 'release'),
  keys: fc.uniqueArray(fc.constantFrom(...KEYS), { minLength: 2, maxLength: 3 }),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Runs the steps; `unjudged`: that request names no flow. Returns the state and whether it was refused. */
function run(steps: readonly Step[], unjudged?: number) {
  const tx = world()
  const flows: Flow[] = ['F', 'G', 'H', 'I', 'J'].map((name) => ({ name, held: [], waiting: [] }))
  const look = () => {
    for (const flow of flows) {
      if (flow.waiting.length === 0 || flow.waiting.some(([key, id]) => tx.waiter(bytesOf(key), id))) continue
      flow.held.push(...flow.waiting)
      flow.waiting = []
    }
  }
  const release = (flow: Flow) => {
    releaseAll(
      tx,
      flow.held.splice(0).map(([key, id]) => [bytesOf(key), id] as const),
    )
    look()
  }
  let circles = 0
  steps.forEach(({ who, what, keys }, i) => {
    const flow = flows[who] as Flow
    if (flow.waiting.length > 0) return
    if (what === 'release') return release(flow)
    const id = `${i}`
    const by = i === unjudged ? {} : { flow: flow.name }
    const wants = what === 'set' ? keys : what === 'permit' ? [semaphore] : keys.slice(0, 1)
    let answer: readonly unknown[]
    if (what === 'set') {
      const list = keys.map((key) => [bytesOf(key), 0] as const)
      const ask = [OP.tryLockAll, id, list, null, 1e6, null, 0] as const
      answer = tryLockAll(tx, 1, i === unjudged ? ask : [...ask, [flow.name, []]]) as readonly unknown[]
    } else {
      const share = what === 'shared' ? SHARED : what === 'permit' ? permits(1, 2) : {}
      const ask = askCommand(id, { key: bytesOf(wants[0] as string), lease: 1e6, wait: 0, ...share, ...by })
      answer = tryLock(tx, 1, ask) as readonly unknown[]
    }
    const isCircle = answer[0] === 'circle' || (Array.isArray(answer[2]) && answer[2][0] === 'circle')
    if (isCircle) circles++
    else flow.waiting = wants.map((key) => [key, id] as const)
    look()
  })
  return { tx, flows, circles, release }
}

/**
 * Everybody who can go on releases what it holds, one after the other, the first of that order who can; whoever
 * waits then waits for ever.
 */
function waitsForEver(scene: ReturnType<typeof run>, order: readonly number[]): string[] {
  const next = () => order.map((i) => scene.flows[i] as Flow).find(canGoOn)
  for (let flow = next(); flow !== undefined; flow = next()) scene.release(flow)
  return scene.flows.filter(({ waiting }) => waiting.length > 0).map(({ name }) => name)
}

const canGoOn = ({ waiting, held }: Flow) => waiting.length === 0 && held.length > 0
const NUMBERS = [0, 1, 2, 3, 4]
const ORDERS = NUMBERS.reduce<number[][]>(
  (all) => all.flatMap((list) => NUMBERS.filter((i) => !list.includes(i)).map((i) => [...list, i])),
  [[]],
)

const listOf = (one: fc.Arbitrary<Step>) => fc.array(one, { minLength: 5, maxLength: 25 })
const withoutSets = step.map((one): Step => ({ ...one, what: one.what === 'set' ? 'permit' : one.what }))
const steps = fc.oneof(listOf(step), listOf(withoutSets))

test('K82 K83: random flows: nobody waits for ever, and whoever was refused would have waited for ever', () => {
  let refused = 0
  fc.assert(
    fc.property(steps, fc.constantFrom(...ORDERS), (all, order) => {
      const last = all.length - 1
      const scene = run(all)
      const hasSets = all.some(({ what }) => what === 'set')
      if (!hasSets && scene.circles > run(all.slice(0, last)).circles) {
        refused++
        const { name } = scene.flows[(all[last] as Step).who] as Flow
        expect(waitsForEver(run(all, last), order)).toContain(name)
      }
      expect(waitsForEver(scene, order)).toEqual([])
    }),
    { numRuns: 1_500, interruptAfterTimeLimit: 30_000 },
  )
  expect(refused).toBeGreaterThan(20)
})
