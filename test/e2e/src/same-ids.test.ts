// Test: two clusters of three real processes with the same member ids: a directory of one cluster at an
// address of the other, clients with addresses of both, and a whole cluster that moves to other addresses.

import { connect, type LatchkeyError, type Store } from '@latchkey/client'
import { Cluster, Sidecar } from '@latchkey/test-chaos/cluster'
import { freePorts } from '@latchkey/test-chaos/ports'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

let x: Cluster
let y: Cluster
let ids: { readonly x: string; readonly y: string }
const started: Sidecar[] = []
const stores: Store<'string'>[] = []

async function founded(cluster: Cluster, name: string): Promise<string> {
  const store = await connect(cluster.urls)
  await store.put('whose', name)
  // Its first leader draws the id, which may take a moment longer than the first put.
  let { clusterId } = await store.status()
  for (let i = 0; clusterId === '' && i < 200; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    clusterId = (await store.status()).clusterId
  }
  await store.close()
  return clusterId
}

beforeAll(async () => {
  // Nobody else leads in x because of a standstill, so a new term means that the wrong member disturbs x.
  ;[x, y] = await Promise.all([Cluster.start({ flags: ['--election-timeout', '20000'] }), Cluster.start()])
  ids = { x: await founded(x, 'x'), y: await founded(y, 'y') }
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const one of started.splice(0)) await one.kill()
  for (const cluster of [x, y]) {
    for (const member of cluster.members) if (!member.running) member.start()
    await cluster.ready()
  }
})
afterAll(async () => {
  await Promise.all([x.destroy(), y.destroy()])
})

const joined = async (urls: readonly string[], clusterId?: string): Promise<Store<'string'>> => {
  const store = await connect(urls, { as: 'string', logger: false, clusterId })
  stores.push(store)
  return store
}
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as LatchkeyError,
  )

async function useUntilRefused(urls: readonly string[]): Promise<never> {
  const store = await joined(urls)
  for (;;) await store.get('whose')
}

/** A member over its directory of one cluster at the address of the other. */
function misplaced(of: Cluster, at: Cluster, id: string): Sidecar {
  const { port, members } = at.get(id).options
  const made = new Sidecar({ id, dir: of.get(id).options.dir, port, members })
  started.push(made)
  return made
}

test('M22: it ends with ERR_WRONG_CLUSTER, however often it is started; nobody reads or locks in it, and the right cluster goes on undisturbed', async () => {
  await Promise.all([x.get('c').stop(), y.get('c').stop()])
  const { term } = await until('the term', async () => (await x.leader()).status())
  const wrong = misplaced(y, x, 'c')
  let runs = 0
  let over = false
  const supervised = (async () => {
    while (!over) {
      wrong.start()
      expect(await wrong.exited()).toBe(1)
      runs++
    }
  })()
  const useOnce = async () => {
    const store = await joined(x.urls)
    expect(await store.get('whose')).toBe('x')
    const hold = await store.locks.acquire('job', { lease: '30s', wait: '30s' })
    await hold.release()
  }
  for (let i = 0; i < 50; i++) {
    const error = await failure(useOnce())
    if (error !== undefined) expect(error).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  }
  over = true
  await supervised
  expect(runs).toBeGreaterThan(0)
  expect(wrong.output).toContain('ERR_WRONG_CLUSTER')
  expect(wrong.output).toContain(ids.x)
  expect(wrong.output).toContain(ids.y)
  expect(wrong.output).toMatch(/\(its directory made \S+Z\).*\(its directory made \S+Z\)/)
  await expect.poll(async () => (await x.get('a').status())?.term).toBe(term)
  const inY = await joined([y.get('a').url, y.get('b').url])
  expect(await inY.locks.query()).toEqual([])
})

test('C30: a client that is given addresses of both clusters ends, or is pinned to one; it never uses both', async () => {
  const one = y.get('b').url
  for (const urls of [
    [one, ...x.urls],
    [...x.urls, one],
    [x.get('a').url, one],
  ]) {
    // A client asks each address for its cluster, and skips an address that does not answer for 400 ms. A
    // skipped address ends the store later.
    const error = await failure(useUntilRefused(urls))
    expect(error?.code).toBe('ERR_WRONG_CLUSTER')
    expect(Object.keys(error?.clusters ?? {}).sort()).toEqual([ids.x, ids.y].sort())
    expect(error?.clusters?.[ids.y]).toContain(one)
    expect(await (await joined(urls, ids.x)).get('whose')).toBe('x')
    expect(await (await joined(urls, ids.y)).get('whose')).toBe('y')
  }
})

test('C30: an address of another cluster that is met later ends the store, and does not serve it', async () => {
  await y.get('b').stop()
  const one = y.get('b').url
  const store = await joined([...x.urls, one])
  const pinned = await joined([...x.urls, one], ids.x)
  expect(await store.get('whose')).toBe('x')
  y.get('b').start()
  await y.ready()
  await expect
    .poll(async () => (await failure(store.get('whose')))?.code, { timeout: 30_000, interval: 100 })
    .toBe('ERR_WRONG_CLUSTER')
  expect(await pinned.get('whose')).toBe('x')
})

test('M24: all members are started at other addresses with another list: they serve there, and tell clients so', async () => {
  await Promise.all(y.members.map((member) => member.stop()))
  const ports = await freePorts(3)
  const names = y.members.map(({ id }) => id)
  const members = Object.fromEntries(names.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`]))
  const moved = names.map(
    (id, i) => new Sidecar({ id, dir: y.get(id).options.dir, port: ports[i] as number, members }),
  )
  started.push(...moved)
  for (const member of moved) member.start()
  await Promise.all(moved.map((member) => member.ready()))
  const store = await joined(Object.values(members), ids.y)
  expect(await store.get('whose')).toBe('y')
  await expect
    .poll(async () => Object.fromEntries((await store.status()).members.map(({ id, url }) => [id, url])), {
      timeout: 20_000,
    })
    .toEqual(members)
})
