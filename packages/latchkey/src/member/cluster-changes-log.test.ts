// Test: what the log, the readiness and the store's events of a member say about the cluster, with three
// members in this process.

import { uptime } from 'node:os'
import { silentLogger, systemClock } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePorts } from '../contract/testing/free-ports-and-temporary-folders.js'
import { sleep } from '../contract/testing/small-test-functions.js'
import { open } from '../open/index.js'
import { openMember } from '../open/open.js'
import { ClusterLog } from './cluster-changes-log.js'

type Line = readonly [level: string, message: string, fields?: Readonly<Record<string, unknown>>]

function keptLines() {
  const lines: Line[] = []
  const at = (level: string) => (message: string, fields?: Line[2]) =>
    void lines.push([level, message, fields])
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

async function addresses() {
  const [a, b, c] = await freePorts(3)
  return { a: `ws://127.0.0.1:${a}`, b: `ws://127.0.0.1:${b}`, c: `ws://127.0.0.1:${c}` }
}

const QUICK = { memory: true, electionTimeout: 300, heartbeat: 30 } as const

const until = async (is: () => boolean) => {
  while (!is()) await sleep(10)
}

test('one of three new members: whom it has not met is said by ready, by the log and by readyz', async () => {
  const members = await addresses()
  const { lines, logger } = keptLines()
  const member = await openMember({ id: 'a', members, ...QUICK, logger })
  onTestFinished(() => member.store.close())
  expect(member.whyNotReady()).toBe(
    'This cluster is new, and starts once its members have met each other: member a has not met b, c yet. Start what is missing.',
  )
  expect(await member.store.status()).toMatchObject({
    missing: ['b', 'c'],
    whyNoLeader: member.whyNotReady(),
  })
  await expect(member.store.ready({ timeout: 200 })).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
    missing: ['b', 'c'],
    message: expect.stringContaining('member a has not met b, c yet'),
  })
  await until(() =>
    lines.some(([level, message]) => level === 'warn' && message.includes('has not met b, c yet')),
  )
})

test('two of three new members have met each other, and miss the third', async () => {
  const members = await addresses()
  const [a, b] = await Promise.all([
    open({ id: 'a', members, ...QUICK, logger: false }),
    open({ id: 'b', members, ...QUICK, logger: false }),
  ])
  onTestFinished(async () => {
    await Promise.all([a.close(), b.close()])
  })
  const missing = async () =>
    a.ready({ timeout: 50 }).catch(({ missing }: { missing?: readonly string[] }) => missing)
  while (`${await missing()}` !== 'c') await sleep(20)
  const remote = await connect([members.a])
  onTestFinished(() => remote.close())
  expect(await remote.status()).toMatchObject({
    missing: ['c'],
    whyNoLeader: expect.stringContaining('member a has not met c yet. Start what is missing.'),
  })
})

test('leaders, members and a majority that is lost and back: each is one line, and an event', async () => {
  const members = await addresses()
  const ids = ['a', 'b', 'c'] as const
  const logs = { a: keptLines(), b: keptLines(), c: keptLines() }
  // There is one election, also on a machine that stands still.
  const start = (id: (typeof ids)[number]) =>
    open({ id, members, ...QUICK, electionTimeout: 3_000, logger: logs[id].logger })
  const stores = { a: await start('a'), b: await start('b'), c: await start('c') }
  onTestFinished(async () => {
    await Promise.all(Object.values(stores).map((store) => store.close()))
  })
  await Promise.all(Object.values(stores).map((store) => store.ready()))
  const quorum: { lost: boolean }[] = []
  stores.a.on('quorum', (event) => quorum.push(event))
  const said = (id: (typeof ids)[number], text: string) =>
    logs[id].lines.filter(([, message]) => message.includes(text)).length
  const { leader } = await stores.a.status()
  for (const id of ids)
    expect(said(id, leader === id ? 'this member won the election' : 'another member leads')).toBe(1)
  await Promise.all([stores.b.close(), stores.c.close()])
  await until(() => quorum.length === 1)
  expect(quorum).toEqual([{ lost: true }])
  expect(said('a', 'this member reaches no majority of the members')).toBe(1)
  // A leader steps down only after it has heard nobody for an election timeout.
  while ((await stores.a.status()).leader !== undefined) await sleep(10)
  await expect(stores.a.ready({ timeout: 500 })).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
    missing: ['b', 'c'],
  })
})

test('a member whose log is behind asks in vain, and its log says who refused', async () => {
  const { lines, logger } = keptLines()
  const node = {
    options: { id: 'a' },
    raft: {
      role: 'candidate',
      term: 4,
      membership: { voters: ['a', 'b', 'c'], learners: [], peers: {} },
      lostCampaign: undefined as unknown,
    },
    applied: { membership: { voters: ['a', 'b', 'c'], outgoing: [], learners: [], peers: {} } },
    on: (_: string, run: () => void) => {
      look = run
      return () => {}
    },
  }
  let look = () => {}
  const transport = { connected: () => true, on: () => () => {} }
  const log = new ClusterLog({ node, transport } as never, systemClock(uptime), logger, () => {})
  node.raft.lostCampaign = { term: 4, votes: new Map([['b', false]]), higherTerm: undefined }
  node.raft.role = 'follower'
  const lost = () => lines.filter(([, message]) => message === 'this member lost the election')
  const why =
    "b refused (their vote went to another member, or this member's log is behind); c did not answer"
  look()
  expect(lost()).toEqual([['info', 'this member lost the election', { term: 4, why }]])
  look()
  expect(lost()).toHaveLength(1)
  log.close()
})

test.each([
  { voters: ['a', 'b'], needed: 2 },
  { voters: ['a', 'b', 'c'], needed: 2 },
  { voters: ['a', 'b', 'c', 'd'], needed: 3 },
  { voters: ['a', 'b', 'c', 'd', 'e'], needed: 3 },
])('of $voters.length members $needed are a majority, and half is none', ({ voters, needed }) => {
  const membership = { voters, outgoing: [], learners: [], peers: {} }
  const node = {
    options: { id: 'a', electionTimeout: 300 },
    raft: { role: 'leader', leader: 'a', term: 4, membership },
    applied: { membership },
    on: (_: string, run: () => void) => {
      look = run
      return () => {}
    },
  }
  let look = () => {}
  const connected = new Set(voters.slice(1))
  const transport = { connected: (id: string) => connected.has(id), on: () => () => {} }
  const said: boolean[] = []
  const log = new ClusterLog({ node, transport } as never, systemClock(uptime), silentLogger, ({ lost }) => {
    said.push(lost)
  })
  onTestFinished(() => log.close())
  const reached = (count: number) => {
    connected.clear()
    for (const id of voters.slice(1, count)) connected.add(id)
    look()
    return said.splice(0)
  }
  expect(reached(needed)).toEqual([])
  expect(reached(needed - 1)).toEqual([true])
  expect(reached(1)).toEqual([])
  expect(reached(needed)).toEqual([false])
})

test('a remote store reports its connection: lost, had again, moved to the leader', async () => {
  const members = await addresses()
  const stores = Object.fromEntries(
    await Promise.all(
      Object.keys(members).map(
        async (id) => [id, await open({ id, members, ...QUICK, logger: false })] as const,
      ),
    ),
  )
  onTestFinished(async () => {
    await Promise.all(Object.values(stores).map((store) => store.close()))
  })
  await Promise.all(Object.values(stores).map((store) => store.ready()))
  const remote = await connect(Object.values(members), { logger: false })
  onTestFinished(() => remote.close())
  await remote.put('k', 'v')
  const events: string[] = []
  for (const name of ['connected', 'disconnected', 'moved'] as const) remote.on(name, () => events.push(name))
  const { leader } = await remote.status()
  await stores[leader as string]?.close()
  await remote.put('k', 'w', { timeout: '30s' })
  expect(events.some((name) => name === 'disconnected' || name === 'moved')).toBe(true)
  expect(() => remote.on('quorum', () => {})).toThrow(TypeError)
  const [first] = Object.values(stores)
  expect(() => first?.on('connected', () => {})).toThrow(TypeError)
})

test('without a logger warnings and errors go to the console, and false is silence', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const members = await addresses()
  const loud = await open({ id: 'a', members, ...QUICK })
  onTestFinished(() => loud.close())
  await until(() => warn.mock.calls.length > 0)
  expect(warn.mock.calls[0]?.[0]).toMatch(/^latchkey: This cluster is new/)
  await expect(open({ id: 'a', memory: true, logger: {} as never })).rejects.toThrow('logger must be false')
})
