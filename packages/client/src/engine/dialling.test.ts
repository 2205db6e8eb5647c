// Test: how a client connects to addresses: which address it tries at which time, for how long, and what it
// does with the other connections when one succeeds.

import { expect, test } from 'vitest'
import type { LinkEvents } from '../link-interface.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

interface Dialled {
  readonly url: string
  readonly at: number
  readonly signal: AbortSignal
}

/** A store whose dials are written down; `silent` addresses never answer. */
function dialling(seed: string, urls: readonly string[], silent: readonly string[]) {
  const { world, cluster, store } = scene(seed, urls)
  const dialled: Dialled[] = []
  const quiet = new Set(silent)
  const dialTo = (url: string) => (events: LinkEvents, signal: AbortSignal) => {
    dialled.push({ url, at: world.now, signal })
    if (!quiet.has(url)) return cluster.dialTo(url)(events, signal)
    return new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }
  return { world, cluster, dialled, quiet, store: () => store({ route: { seeds: urls, dialTo } }) }
}

const areAborted = (dialled: readonly Dialled[]) => dialled.map(({ signal }) => signal.aborted)

// Without it: each change of leader leaves half-open connections to members that are slow, until they let in
// a client that has gone.
test('C6: whoever lets it in first is used; the others that were dialled are given up at once, and all of them at the end', async () => {
  for (let seed = 0; seed < 10; seed++) {
    const { world, cluster, dialled, store } = dialling(`first ${seed}`, ['silent', 'b'], ['silent'])
    cluster.leader = 'b'
    const client = store()
    const seen = follow(client.get('k'))
    await world.until(() => seen.told > 0, 2_000)
    expect(codeOf(seen)).toBe('ok')
    for (const { url, signal } of dialled) expect([url, signal.aborted]).toEqual([url, url === 'silent'])
    await client.close()
  }
  const { world, dialled, store } = dialling('none', ['x', 'y'], ['x', 'y'])
  const client = store()
  await world.run(1_000)
  expect(areAborted(dialled)).toEqual([false, false])
  await client.close()
  expect(areAborted(dialled)).toEqual([true, true])
  await world.run(10_000)
  expect([dialled.length, world.pending]).toEqual([2, 0])
})

test('C6: a link that opens although its attempt has ended is closed', async () => {
  const { world, cluster, store } = scene('late')
  // This dial does not listen to its signal.
  const dialTo = (url: string) => (events: LinkEvents) =>
    cluster.dialTo(url)(events, new AbortController().signal)
  cluster.faults = { ...cluster.faults, latency: 500 }
  const client = store({ route: { seeds: ['a'], dialTo } })
  await world.run(100)
  expect(cluster.dials).toBe(1)
  await client.close()
  await world.run(1_000)
  expect(cluster.links.size).toBe(0)
})

test('C6: one that says nothing gets company by the next after 250 ms, and is given up after three seconds', async () => {
  const { world, dialled, store } = dialling('slow', ['x', 'y', 'z'], ['x', 'y', 'z'])
  const began = world.now
  const client = store()
  await world.run(2_999)
  expect(dialled.map(({ at }) => at - began)).toEqual([0, 250, 500])
  expect(new Set(dialled.map(({ url }) => url)).size).toBe(3)
  expect(areAborted(dialled)).toEqual([false, false, false])
  await world.run(2)
  expect(areAborted(dialled)).toEqual([true, false, false])
  await world.run(500)
  expect(areAborted(dialled.slice(0, 3))).toEqual([true, true, true])
  await client.close()
})

test('C6: where all refuse, rounds are further and further apart, up to a second and a half; one that lets us in begins anew', async () => {
  const { world, cluster, dialled, store } = dialling('down', ['x'], [])
  cluster.down.add('x')
  const client = store()
  await world.run(30_000)
  const pauses = dialled.slice(1).map(({ at }, i) => at - (dialled[i] as Dialled).at)
  const { latency } = cluster.faults
  pauses.forEach((pause, round) => {
    const middle = Math.min(1_000, 20 * 2 ** round)
    expect(pause - latency, `round ${round}`).toBeGreaterThanOrEqual(middle / 2)
    expect(pause - latency, `round ${round}`).toBeLessThanOrEqual((middle * 3) / 2)
  })
  expect(pauses.length).toBeGreaterThan(20)
  cluster.down.clear()
  cluster.leader = 'x'
  await world.run(2_000)
  const seen = follow(client.get('k'))
  await world.run(20)
  expect(codeOf(seen)).toBe('ok')
  const before = dialled.length
  cluster.kill('x')
  await world.run(100)
  expect(dialled.length - before).toBeGreaterThanOrEqual(2)
  await client.close()
})
