// Test: which links the router of a store keeps. A link that has closed is forgotten, and the engine is notified
// once.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import type { Dial } from '../link-interface.js'
import { FakeCluster, type FakeLink } from '../testing/fake-cluster.js'
import { World } from '../testing/virtual-time.js'
import { Call } from './call.js'
import { Router } from './router.js'

const nothing = () => {}
const read = () =>
  new Call({ what: 'admin', call: 'status', args: [], changes: false }, nothing, nothing, nothing)

/** The router is given the first address only, and learns the others. */
function routerOf(urls: readonly string[], dials: Readonly<Record<string, Dial>> = {}) {
  const world = new World()
  const cluster = new FakeCluster(world, seededRandom('router'), urls)
  const lost: (string | undefined)[] = []
  const dialTo = (url: string) => dials[url] ?? cluster.dialTo(url)
  const router = new Router({ seeds: urls.slice(0, 1), dialTo }, world.clock(), seededRandom('links'), {
    active: nothing,
    leader: nothing,
    reply: nothing,
    lost: (live) => lost.push(live.url),
    left: nothing,
    awaits: () => false,
    noUsableAddress: nothing,
    memberRemoved: nothing,
    failed: nothing,
  })
  router.start()
  const inUse = () => router.linksInUse().map(({ url }) => url)
  const linkTo = (url: string) => [...cluster.links].find((link) => link.url === url) as FakeLink
  return { world, cluster, router, lost, inUse, linkTo }
}

// Without this law: the engine sends the requests of the link again twice, and a store that moves each day keeps
// every link that it ever had.
test('C6: a link that was left and closes is forgotten, and the engine hears of it once', async () => {
  const { world, cluster, router, lost, inUse, linkTo } = routerOf(['a', 'b'])
  await world.run(100)
  expect(inUse()).toEqual(['a'])
  // The link has a request without an answer, so it stays open when the store leaves it.
  router.active?.inflight.add(1, read())
  const left = linkTo('a')
  cluster.elect('b')
  await world.run(100)
  expect(inUse()).toEqual(['b', 'a'])
  left.break()
  left.events.closed(new Error('again'))
  await world.run(100)
  expect([inUse(), lost]).toEqual([['b'], ['a']])
  router.close()
  expect(world.pending).toBe(0)
})

test('C6: a member that was asked who leads, and closes its link before it reports, is forgotten', async () => {
  let closed = nothing
  let closes = 0
  const dial: Dial = async (events) => {
    closed = () => events.closed(new Error('gone'))
    return { send: nothing, close: () => closes++ }
  }
  const { world, cluster, router, inUse } = routerOf(['a', 'b'], { b: dial })
  cluster.cutOff.add('a')
  await world.until(() => closed !== nothing)
  await world.run(100)
  expect([inUse(), closes]).toEqual([['a'], 0])
  closed()
  router.close()
  expect([closes, world.pending]).toEqual([0, 0])
})
