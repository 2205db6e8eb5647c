// Test: what an embedded store asks of the other members while its own member is cut off from the leader.

import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { Dial, LinkEvents } from '../link-interface.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

const IDS = ['a', 'b', 'c', 'd']

/** The store lives in a; b leads. Links to a have no sign of life, as those into the own process. */
async function embedded(seed: number | string = 1) {
  const s = scene(`third ${seed}`, IDS)
  const { cluster, world } = s
  cluster.leader = 'b'
  let home: LinkEvents | undefined
  const dialHome: Dial = async (events, signal) => {
    home = events
    const link = await cluster.dialTo('a')(events, signal)
    return { send: (request) => link.send(request), close: () => link.close() }
  }
  const dialled: string[] = []
  const dialledAt: number[] = []
  const others = {
    ids: () => ['c', 'd', 'b'],
    dialTo: (id: string) => {
      dialled.push(id)
      dialledAt.push(world.now)
      return cluster.dialTo(id)
    },
  }
  const client = s.store({ route: { dial: dialHome, others } })
  const warm = follow(client.put('warm', '0'))
  await world.run(100)
  expect(codeOf(warm)).toBe('ok')
  const cutOff = (isCutOff: boolean) => {
    if (isCutOff) cluster.cutOff.add('a')
    else cluster.cutOff.delete('a')
    home?.cutOff?.(isCutOff)
  }
  const links = () => [...cluster.links].map((link) => link.url).sort()
  return { ...s, client, cutOff, dialled, dialledAt, links, home: () => home as LinkEvents }
}

test('M28: what is pending goes to a third member, once; afterwards everything goes to the own member again', async () => {
  for (let seed = 0; seed < 30; seed++) {
    const { world, cluster, client, cutOff, dialled, links } = await embedded(seed)
    cluster.mute = true
    const sent = follow(client.merge('log', 'x'))
    await world.run(seed % 7)
    cluster.mute = false
    cutOff(true)
    const asked = follow(client.merge('log', 'y'))
    const read = follow(client.get('warm'))
    await world.run(100)
    expect([sent, asked, read].map(codeOf), `seed ${seed}`).toEqual(['ok', 'ok', 'ok'])
    expect(cluster.machine.data.get('log')?.toString()).toBe('x,y')
    expect(links()).toEqual(['a', 'c'])
    cutOff(false)
    await world.run(20)
    const later = follow(client.merge('log', 'z'))
    await world.run(100)
    expect([codeOf(later), cluster.machine.data.get('log')?.toString()]).toEqual(['ok', 'x,y,z'])
    expect([links(), dialled]).toEqual([['a'], ['c']])
  }
})

test('M28: nobody else is asked while the own member reaches its leader', async () => {
  const { world, cluster, client, dialled } = await embedded()
  const watch = client.watch({ key: 'k' }).next()
  watch.catch(() => {})
  for (let i = 0; i < 20; i++) {
    const put = follow(client.put('k', `${i}`))
    await world.run(500)
    expect(codeOf(put)).toBe('ok')
  }
  expect([dialled, cluster.dials]).toEqual([[], 1])
})

test('M28: who knows no leader is followed by the next, and so is one that does not let the store in', async () => {
  const { world, cluster, client, cutOff, dialled } = await embedded()
  cluster.cutOff.add('c')
  cluster.down.add('d')
  cutOff(true)
  const put = follow(client.put('k', 'v'))
  await world.run(100)
  expect([codeOf(put), dialled.slice(0, 3)]).toEqual(['ok', ['c', 'd', 'b']])
})

test('M28: while no member helps, the next one is asked after a pause that doubles up to a second', async () => {
  const { world, cluster, cutOff, dialledAt } = await embedded()
  for (const id of ['b', 'c', 'd']) cluster.cutOff.add(id)
  cutOff(true)
  await world.run(20_000)
  const pauses = dialledAt.slice(1).map((at, i) => at - (dialledAt[i] as number))
  pauses.forEach((pause, round) => {
    const middle = Math.min(1_000, 20 * 2 ** round)
    expect(pause, `round ${round}`).toBeGreaterThanOrEqual(middle / 2)
    expect(pause, `round ${round}`).toBeLessThanOrEqual((middle * 3) / 2 + 5 * cluster.faults.latency)
  })
  expect(pauses.length).toBeGreaterThan(15)
})

test('M28: a third member that loses its leader, dies or stops is left, and what was asked there is asked again, once', async () => {
  const leaderless = (s: Awaited<ReturnType<typeof embedded>>) => {
    s.cluster.cutOff.add('c')
    for (const link of s.cluster.links) {
      const members = IDS.map((id) => [id, id, 'voter'] as const)
      const reply = { id: undefined, url: undefined, term: 1, role: 'follower', self: 'c', members } as const
      if (link.url === 'c')
        link.tell({ kind: 'leader', ...reply, clusterId: s.cluster.clusterId, electionTimeout: 1_000 }, 0)
    }
  }
  const stories = [
    leaderless,
    (s: Awaited<ReturnType<typeof embedded>>) => s.cluster.kill('c'),
    (s: Awaited<ReturnType<typeof embedded>>) => void s.cluster.silent.add('c'),
  ]
  for (const story of stories) {
    const s = await embedded()
    s.cutOff(true)
    await s.world.run(50)
    s.cluster.mute = true
    const put = follow(s.client.merge('log', 'x'))
    await s.world.run(5)
    story(s)
    s.cluster.mute = false
    await s.world.run(2_500)
    expect([codeOf(put), s.cluster.machine.data.get('log')?.toString()]).toEqual(['ok', 'x'])
    expect(s.links()).toContain('d')
  }
})

test('M28: stale reads and calls about the member itself stay at the own member', async () => {
  const { world, cluster, client, cutOff } = await embedded()
  cutOff(true)
  await world.run(50)
  const before = cluster.requests.length
  const own = [...cluster.links].find((link) => link.url === 'a')
  const sentBefore = own?.sent.length ?? 0
  const stale = follow(client.get('warm', { consistency: 'stale' }))
  const status = follow(client.status())
  await world.run(50)
  expect(codeOf(stale)).toBe('ok')
  expect([cluster.requests.length - before, (own?.sent.length ?? 0) - sentBefore]).toEqual([2, 2])
  void status
})

test('M28: events of the store are its own member’s, whoever hands on its calls', async () => {
  const { world, client, cutOff } = await embedded()
  const roles: unknown[] = []
  client.on('role', (event) => roles.push(event))
  client.on('leader', (event) => roles.push(event))
  cutOff(true)
  await world.run(100)
  cutOff(false)
  await world.run(100)
  expect(roles).toEqual([])
})

test('M28: when the own member is gone, the way through a third one ends with it', async () => {
  const { world, client, cutOff, links, home } = await embedded()
  cutOff(true)
  await world.run(50)
  expect(links()).toEqual(['a', 'c'])
  home().closed(new LatchkeyError('ERR_NO_LEADER', 'This member was closed.'))
  const put = follow(client.put('k', 'v'))
  await world.run(1)
  expect(links()).not.toContain('c')
  cutOff(false)
  await world.run(200)
  expect(codeOf(put)).toBe('ok')
})

test('C9: a close while another member is asked leaves no link and no timer', async () => {
  for (const wait of [5, 50]) {
    const { world, client, cutOff, links } = await embedded(wait)
    cutOff(true)
    await world.run(wait)
    await client.close()
    await world.run(3_000)
    expect([links(), world.pending]).toEqual([[], 0])
  }
})
