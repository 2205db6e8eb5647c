// Test: the directory of another cluster is started at a member's address, with real processes. The wrong
// member stops, and no client reads from it or gets a lock from it.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type LatchkeyError } from '@latchkey/client'
import { Cluster, Sidecar } from '@latchkey/test-chaos/cluster'
import { latchkey } from '@latchkey/test-chaos/command'
import { freePorts } from '@latchkey/test-chaos/ports'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

let x: Cluster
/** The wrong directory. */
let dir: string
let clusterId: string
const started: Sidecar[] = []

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'latchkey-y-'))
  x = await Cluster.start()
  const store = await connect(x.urls)
  await store.put('whose', 'x')
  clusterId = (await store.status()).clusterId
  await store.close()
  const alone = sidecar(((await freePorts(1)) as [number])[0], {})
  alone.start()
  await alone.ready()
  const other = await connect([alone.url])
  await other.put('whose', 'y')
  await other.close()
  await alone.stop()
})
afterEach(async () => {
  for (const one of started.splice(0)) await one.kill()
  if (!x.get('a').running) x.get('a').start()
  await x.ready()
})
afterAll(async () => {
  await x.destroy()
  await rm(dir, { recursive: true, force: true })
})

/** A member called a over the wrong directory. */
function sidecar(port: number, members: Record<string, string>): Sidecar {
  const made = new Sidecar({ id: 'a', dir, port, members })
  started.push(made)
  return made
}

test('M22: given the list of members, it stops and says why; the right cluster goes on', async () => {
  await x.get('a').stop()
  const y = sidecar(x.get('a').options.port, x.get('a').options.members)
  y.start()
  expect(await y.exited()).toBe(1)
  expect(y.output).toContain('ERR_WRONG_CLUSTER')
  expect(y.output).toContain(clusterId)
  expect(y.output).toContain(x.get('b').url)
  const store = await connect([x.get('b').url, x.get('c').url], { as: 'string' })
  expect(await store.get('whose')).toBe('x')
  await store.close()
})

test('C30 M22: no new client reads or locks in the wrong cluster, in 200 tries', async () => {
  await x.get('a').stop()
  // Without the list it cannot know better, and serves whoever asks it alone.
  const y = sidecar(x.get('a').options.port, {})
  y.start()
  await y.ready()
  const use = async (locks: boolean) => {
    await using store = await connect(x.urls, { as: 'string', logger: false })
    expect(await store.get('whose')).toBe('x')
    if (!locks) return
    const hold = await store.locks.acquire('job', { lease: '30s', wait: '30s' })
    await hold.release()
  }
  let refused = 0
  for (let i = 0; i < 200; i++) {
    // A client that gets no answer from an address within 400 ms asks it again later, and may end then.
    const error = await use(i % 10 === 0).catch((reason: unknown) => reason)
    if (error === undefined) continue
    refused++
    expect(error).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
    const { clusters } = error as LatchkeyError
    expect(Object.keys(clusters ?? {})).toContain(clusterId)
    expect(Object.keys(clusters ?? {})).toHaveLength(2)
  }
  // A third of them met it first, about.
  expect(refused).toBeGreaterThan(20)
  expect(refused).toBeLessThan(180)
  const asked = await connect([y.url], { as: 'string' })
  expect(await asked.locks.query()).toEqual([])
  await asked.close()
  // Pinned, the command reads the right one, or nothing.
  const pinned = await latchkey(['get', 'whose', '--cluster-id', clusterId], [y.url]).ended
  expect([pinned.code, pinned.out]).toEqual([1, ''])
  expect(pinned.err).toContain('ERR_WRONG_CLUSTER')
})
