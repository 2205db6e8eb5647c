// Test: a client notices a leader that is silent although its connection is open. The client then asks
// another member, and sends its pending calls to the next leader.

import { LatchkeyError, READ, type LinkRequest } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { NO_FAULTS } from '../testing/fake-cluster.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

const urlsOf = (links: Iterable<{ readonly url: string }>) => [...links].map((link) => link.url).sort()
const merges = (requests: readonly LinkRequest[]) => requests.filter(({ kind }) => kind === 'command').length

/** A store that is connected to the leader a, and has a session there. */
async function connected(seed: string, urls: readonly string[] = ['a', 'b', 'c']) {
  const s = scene(seed, urls)
  const client = s.store()
  const warm = follow(client.put('warm', '0'))
  await s.world.run(100)
  expect(codeOf(warm)).toBe('ok')
  expect(urlsOf(s.cluster.links)).toEqual(['a'])
  return { ...s, client }
}

describe('C13: a leader that stopped and closed nothing', () => {
  for (const [name, asked] of [
    ['as it stops', 0],
    ['when all has been silent for a while', 900],
  ] as const)
    test(`what is asked ${name} is answered within 300 ms of the next leader’s start, once`, async () => {
      for (let seed = 0; seed < 40; seed++) {
        const { world, cluster, client } = await connected(`stop ${asked} ${seed}`)
        await world.run(seed * 17)
        cluster.silent.add('a')
        await world.run(asked)
        const write = follow(client.merge('log', 'x'))
        const read = follow(client.get('warm'))
        await world.run(1_000 + seed * 20 - asked)
        cluster.elect('b')
        await world.run(300)
        expect([codeOf(write), codeOf(read)], `seed ${seed}`).toEqual(['ok', 'ok'])
        expect(cluster.machine.data.get('log')?.toString()).toBe('x')
        cluster.wake('a')
        await world.run(1_000)
        expect(cluster.machine.data.get('log')?.toString()).toBe('x')
        expect(urlsOf(cluster.links)).toEqual(['b'])
      }
    })

  test('one who only watches notices it within one and a half election timeouts, too', async () => {
    const { world, cluster, client } = await connected('watch')
    const seen: string[] = []
    void (async () => {
      for await (const event of client.watch({ key: 'k' })) seen.push(String(event.revision))
    })().catch(() => {})
    await world.run(100)
    cluster.silent.add('a')
    cluster.elect('b')
    await world.run(1_500)
    expect(urlsOf(cluster.links)).toContain('b')
    const other = follow(client.put('k', 'v'))
    await world.run(100)
    expect([codeOf(other), seen.length]).toEqual(['ok', 1])
    await client.close()
  })

  test('where the others still name it after one and a half election timeouts, the way there is what is cut: they are asked instead', async () => {
    const { world, cluster, client } = await connected('cut')
    cluster.silent.add('a')
    const write = follow(client.put('k', 'v'))
    await world.run(1_400)
    expect(codeOf(write)).toBe('pending')
    await world.run(600)
    expect(codeOf(write)).toBe('ok')
  })

  test('an answer that comes late on the link that was left counts', async () => {
    const { world, cluster, client } = await connected('late')
    const write = follow(client.merge('log', 'x'))
    // It is applied, and the answer stays where it is.
    await world.run(3)
    cluster.silent.add('a')
    await world.run(1_000)
    cluster.mute = true
    cluster.elect('b')
    await world.run(500)
    expect(urlsOf(cluster.links)).toEqual(expect.arrayContaining(['a', 'b']))
    expect(codeOf(write)).toBe('pending')
    cluster.wake('a')
    await world.run(50)
    expect(codeOf(write)).toBe('ok')
    expect(cluster.machine.data.get('log')?.toString()).toBe('x')
    await world.run(100)
    expect(urlsOf(cluster.links)).toEqual(['b'])
  })

  test('what was left twice, and what its caller gave up, leaves no link open and no timer', async () => {
    const { world, cluster, client } = await connected('twice')
    cluster.silent.add('a')
    const first = follow(client.put('k', 'v', { timeout: 2_500 }))
    const read = follow(client.get('k', { timeout: 2_500 }))
    await world.run(1_000)
    cluster.elect('b')
    await world.run(100)
    expect([codeOf(first), codeOf(read)]).toEqual(['ok', 'ok'])
    cluster.silent.add('b')
    const second = follow(client.put('k', 'w', { timeout: 600 }))
    const third = follow(client.get('k', { timeout: 600 }))
    await world.run(900)
    expect([codeOf(second), codeOf(third)]).toEqual(['ERR_OUTCOME_UNKNOWN', 'ERR_TIMEOUT'])
    cluster.elect('c')
    await world.run(1_000)
    cluster.wake('a')
    cluster.wake('b')
    await world.run(10_000)
    expect(urlsOf(cluster.links)).toEqual(['c'])
    await client.close()
    await world.run(1_000)
    expect(world.pending).toBe(0)
  })
})

test('C13: where nobody lets it in, it asks more and more rarely', async () => {
  const { world, cluster, client } = await connected('refused')
  cluster.silent.add('a')
  cluster.refusal = new LatchkeyError('ERR_NO_LEADER')
  const before = cluster.dials
  follow(client.put('k', 'v', { timeout: 60_000 }))
  await world.run(10_000)
  expect(cluster.dials - before).toBeGreaterThan(8)
  expect(cluster.dials - before).toBeLessThan(20)
})

test('C13: the only member there is, on a connection that died without a word: another one is made', async () => {
  const { world, cluster, client } = await connected('alone', ['a'])
  const [link] = [...cluster.links]
  if (link) link.deaf = true
  const write = follow(client.put('k', 'v'))
  await world.run(1_900)
  expect(codeOf(write)).toBe('ok')
  expect([...cluster.links].filter((one) => one !== link)).toHaveLength(1)
})

describe('C13: a leader that lives is not left', () => {
  test('a slow one: every byte is a sign of life, an answer or not', async () => {
    const { world, cluster, client } = await connected('slow')
    const dials = cluster.dials
    cluster.readDelay = 20_000
    const read = follow(client.get('warm', { timeout: 30_000 }))
    await world.run(21_000)
    expect([codeOf(read), cluster.dials - dials]).toEqual(['ok', 0])
    expect(cluster.probes).toBeGreaterThan(5)
    expect(cluster.requests.filter((r) => r.kind === 'read' && r.read[0] === READ.get)).toHaveLength(1)
  })

  test('one far away: after a few looks its distance is known, and the others are asked no more', async () => {
    const { world, cluster, client } = await connected('far')
    const dials = cluster.dials
    cluster.faults = { ...NO_FAULTS, latency: 300 }
    for (let call = 0; call < 40; call++) {
      const write = follow(client.put('k', String(call)))
      await world.run(700)
      expect(codeOf(write)).toBe('ok')
    }
    expect(cluster.dials - dials).toBeLessThanOrEqual(3)
    expect(merges(cluster.requests)).toBeLessThan(45)
    expect(urlsOf(cluster.links)).toEqual(['a'])
  })

  test('one that stops for less than an election keeps its store, and the one that was asked is let go', async () => {
    const { world, cluster, client } = await connected('nap')
    cluster.silent.add('a')
    const write = follow(client.merge('log', 'x'))
    await world.run(700)
    expect(cluster.links.size).toBe(2)
    cluster.wake('a')
    await world.run(400)
    expect(codeOf(write)).toBe('ok')
    expect(urlsOf(cluster.links)).toEqual(['a'])
    expect(cluster.machine.data.get('log')?.toString()).toBe('x')
  })

  test('a process that stands still itself asks nobody', async () => {
    const { world, cluster, client } = await connected('stall')
    const dials = cluster.dials
    for (let stall = 0; stall < 10; stall++) {
      const write = follow(client.put('k', 'v'))
      await world.run(1)
      world.now += 4_000
      await world.run(20)
      expect(codeOf(write)).toBe('ok')
    }
    expect(cluster.dials - dials).toBe(0)
  })

  test('many stores of a silent leader: each asks one member at a time, and not all in the same moment', async () => {
    const { world, cluster, store } = scene('storm', ['a', 'b', 'c'])
    const clients = Array.from({ length: 200 }, () => store())
    const warm = clients.map((client, i) => follow(client.put(`warm/${i}`, '0')))
    await world.run(3_000)
    expect(warm.every((one) => codeOf(one) === 'ok')).toBe(true)
    cluster.silent.add('a')
    const writes = clients.map((client, i) => follow(client.put(`k/${i}`, 'v')))
    const before = cluster.dials
    let last = before
    let most = 0
    for (let ms = 0; ms < 1_000; ms += 10) {
      await world.run(10)
      most = Math.max(most, cluster.dials - last)
      last = cluster.dials
    }
    // Each has asked one, and keeps it; in no hundredth of a second more than a fifth of them.
    expect(cluster.dials - before).toBe(200)
    expect(most).toBeLessThan(40)
    // The stores spread over the other members.
    for (const url of ['b', 'c'])
      expect(urlsOf(cluster.links).filter((one) => one === url).length, url).toBeGreaterThan(60)
    cluster.elect('c')
    await world.run(300)
    expect(writes.every((one) => codeOf(one) === 'ok')).toBe(true)
  })
})

test('C13, C6: a link that breaks while another member is being asked is followed by another, whoever answers first', async () => {
  for (let seed = 0; seed < 60; seed++) {
    const { world, cluster, client } = await connected(`break ${seed}`)
    cluster.silent.add('a')
    const write = follow(client.put('k', 'v', { timeout: 20_000 }))
    await world.run(250 + seed * 5)
    // Nobody lets it in for a while, in whatever way.
    if (seed % 3 === 0) cluster.refusal = new LatchkeyError('ERR_NO_LEADER')
    if (seed % 3 === 1) for (const url of ['b', 'c']) cluster.silent.add(url)
    for (const link of [...cluster.links]) if (link.url === 'a') link.break()
    await world.run(seed * 40)
    cluster.refusal = undefined
    cluster.wake('b')
    cluster.wake('c')
    cluster.elect('b')
    await world.run(5_000)
    expect(codeOf(write), `seed ${seed}`).toBe('ok')
  }
})

test('a store that is owed nothing asks nothing: no probe, no dial, and no timer but those of its session', async () => {
  const { world, cluster, client } = await connected('idle')
  const seen = follow(client.get('warm'))
  await world.run(2_000)
  expect(codeOf(seen)).toBe('ok')
  const before = [cluster.probes, cluster.dials, cluster.requests.length]
  await world.run(60_000)
  expect([cluster.probes, cluster.dials, cluster.requests.length]).toEqual(before)
  expect(world.pending).toBe(0)
  await client.close()
})
