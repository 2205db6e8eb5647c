// Test: `latchkey doctor` with simulated members and a simulated machine: it finds each planted fault,
// reports no other fault, and says what to do. The real checks of a machine are tested too.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@latchkey/base'
import type { MemberConnection } from '@latchkey/client'
import { CAPS, LatchkeyError, type Status } from '@latchkey/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { fakeIo } from '../../test/fake-io.js'
import { readLine } from './command-description-and-parser.js'
import { doctorCommand } from './doctor-command.js'
import { rateOf } from './doctor/cluster-findings.js'
import type { DirFacts, Finding } from './doctor/collected-facts.js'
import { type Probes, realProbes } from './doctor/probes.js'
import type { ConnectOptions } from './command-io-interface.js'

const GB = 1e9
const DAY = 86_400_000
const IDS = ['a', 'b', 'c']
const urlOf = (id: string) => `ws://${id}.test:7001`

type Change = Partial<Status> & { readonly rate?: number }
interface World {
  /** What is different at some members; 'down': nobody listens there. */
  readonly members?: Readonly<Record<string, Change | 'down'>>
  readonly connect?: Readonly<Record<string, LatchkeyError>>
  readonly probes?: Partial<Probes>
  readonly args?: readonly string[]
}

const healthyDisk: DirFacts = {
  path: '/data/a',
  syncMillis: [1, 2, 3],
  freeBytes: 50 * GB,
  totalBytes: 100 * GB,
}

function statusOf(id: string, change: Change): Status {
  const { rate = 1, ...more } = change
  return {
    ...{ id, role: id === 'a' ? 'leader' : 'follower', leader: 'a', term: 3, commit: 9, applied: 9 },
    ...{ clusterTime: 1, clusterId: 'one', version: '1.0.0', dateMillis: Date.now() },
    uptimeMillis: 1e6 + performance.now() * rate,
    members: IDS.map((name) => ({ id: name, url: urlOf(name), role: 'voter', lag: 0, alive: true })),
    disk: { stateBytes: GB, logBytes: 1e6, freeBytes: 50 * GB, totalBytes: 100 * GB },
    ...more,
  } as Status
}

async function doctor({ members = {}, connect = {}, probes = {}, args = [] }: World = {}) {
  const hostOf = (url: string) => new URL(url).hostname.split('.')[0] as string
  const isDown = (id: string) => members[id] === 'down'
  const closed: string[] = []
  const connected: { url: string; options: ConnectOptions }[] = []
  const fake: Probes = {
    disk: async () => healthyDisk,
    openFiles: () => CAPS.connections + 1_000,
    lookup: async (host) => [`10.0.0.${1 + IDS.indexOf(host.split('.')[0] as string)}`],
    dial: async (address) =>
      isDown(IDS[Number(address.slice(7)) - 1] as string) ? 'ECONNREFUSED' : undefined,
    certificate: async () => undefined,
    ...probes,
  }
  const store = (id: string) =>
    ({
      status: async () => statusOf(id, (members[id] ?? {}) as Change),
      close: () => void closed.push(id),
    }) satisfies MemberConnection
  const io = {
    ...fakeIo(),
    connectToMember: async (url: string, options: ConnectOptions) => {
      const id = hostOf(url)
      connected.push({ url, options })
      if (connect[id] !== undefined) throw connect[id]
      return store(id)
    },
  }
  const command = doctorCommand('1.0.0', () => fake)
  const line = readLine(command, ['--endpoint', urlOf('a'), '--watch', '60ms', '--json', ...args])
  const code = await command.run(line, io)
  const { healthy, findings } = JSON.parse(io.printed.out) as { healthy: boolean; findings: Finding[] }
  expect(closed).toHaveLength(connected.length - Object.keys(connect).length)
  const faults = findings.filter(({ level }) => level === 'error' || level === 'warning')
  for (const { advice, message } of faults) expect(advice, message).toMatch(/\w{3}/)
  return { code, healthy, findings, faults, connected }
}

test('a healthy cluster and machine: no fault, each member asked once at its own address', async () => {
  const { code, healthy, faults, findings, connected } = await doctor({ args: ['--dir', '/data/a'] })
  expect(faults).toEqual([])
  expect([code, healthy]).toEqual([0, true])
  expect(connected.map(({ url }) => url)).toEqual(IDS.map(urlOf))
  const checks = new Set(findings.map(({ check }) => check))
  for (const check of ['disk', 'space', 'files', 'member', 'cluster', 'version', 'leader', 'clock'] as const)
    expect(checks, check).toContain(check)
})

/** Each: what is planted, and the one finding that tells it. */
const PLANTED: readonly (readonly [string, World, Partial<Finding>])[] = [
  [
    'a slow disk',
    { args: ['--dir', '/x'], probes: { disk: async () => ({ ...healthyDisk, syncMillis: [90, 150, 400] }) } },
    { check: 'disk', level: 'error', message: expect.stringContaining('150.0 ms') as string },
  ],
  [
    'a clock of a wrong rate',
    { members: { b: { rate: 5_000 } } },
    { check: 'clock', level: 'error', about: 'member b (ws://b.test:7001)' },
  ],
  [
    'an expired certificate',
    {
      args: ['--endpoint', 'wss://a.test:7002'],
      probes: {
        certificate: async (_address, port, host) => ({
          ...{ place: `${host}:${port}`, name: 'member a' },
          ...{ from: Date.now() - 9 * DAY, to: Date.now() - DAY },
        }),
      },
    },
    { check: 'certificate', level: 'error', message: expect.stringContaining('has expired') as string },
  ],
  [
    'a certificate that expires soon',
    {
      args: ['--endpoint', 'wss://a.test:7002'],
      probes: {
        certificate: async () => ({
          ...{ place: 'a', name: 'member a', from: Date.now() - DAY, to: Date.now() + 3.5 * DAY },
        }),
      },
    },
    { check: 'certificate', level: 'warning', message: expect.stringContaining('for 3 days') as string },
  ],
  [
    'a name that the DNS does not know',
    {
      probes: {
        lookup: async (host) =>
          host === 'c.test' ? Promise.reject(new Error('getaddrinfo ENOTFOUND c.test')) : ['10.0.0.1'],
      },
    },
    { check: 'dns', level: 'error', about: 'member c (ws://c.test:7001)' },
  ],
  [
    'a name that leads to another member',
    { members: { c: { id: 'b' } } },
    {
      check: 'dns',
      level: 'error',
      message: 'member b answers at the address of member c',
    },
  ],
  [
    'a blocked port',
    { probes: { dial: async (address) => (address === '10.0.0.2' ? 'no answer within 3 s' : undefined) } },
    { check: 'port', level: 'error', about: 'member b (ws://b.test:7001)' },
  ],
  [
    'another version',
    { members: { c: { version: '0.9.0' } } },
    { check: 'version', level: 'warning', message: expect.stringContaining('c runs 0.9.0') as string },
  ],
  [
    'a full disk of a member',
    { members: { b: { disk: { stateBytes: GB, logBytes: 0, freeBytes: 1e6, totalBytes: 2 * GB } } } },
    { check: 'space', level: 'error', about: 'member b (ws://b.test:7001)' },
  ],
  [
    'a full disk of this machine',
    { args: ['--dir', '/x'], probes: { disk: async () => ({ ...healthyDisk, freeBytes: 0 }) } },
    { check: 'space', level: 'error', about: '/data/a' },
  ],
  [
    'a disk of this machine that is so full that nothing can be measured',
    {
      args: ['--dir', '/x'],
      probes: { disk: async () => ({ ...healthyDisk, syncMillis: [], freeBytes: 0 }) },
    },
    { check: 'space', level: 'error', about: '/data/a' },
  ],
  [
    'a process that stands still behind an open port',
    {
      connect: {
        b: new LatchkeyError('ERR_NO_LEADER', 'It cannot be reached: the handshake has timed out.'),
      },
    },
    {
      check: 'member',
      level: 'error',
      about: 'member b (ws://b.test:7001)',
      advice: expect.stringContaining('stands still') as string,
    },
  ],
  [
    'a low limit on open files',
    { probes: { openFiles: () => 256 } },
    { check: 'files', level: 'error', message: expect.stringContaining('256') as string },
  ],
  [
    'a limit on open files that is enough for few connections',
    { probes: { openFiles: () => 1_024 } },
    { check: 'files', level: 'warning' },
  ],
  [
    'a limit on open files that is one less than all connections need',
    { probes: { openFiles: () => CAPS.connections + 999 } },
    { check: 'files', level: 'warning' },
  ],
  [
    'members of two clusters',
    { members: { c: { clusterId: 'two' } } },
    { check: 'cluster', level: 'error', message: expect.stringContaining('is of two') as string },
  ],
  [
    'another cluster than the wanted one',
    { args: ['--cluster-id', 'mine'] },
    { check: 'cluster', level: 'error', message: 'its id is one, and not mine' },
  ],
  [
    'a cluster of another name',
    { connect: { b: new LatchkeyError('ERR_WRONG_CLUSTER', 'This is cluster "x".') } },
    { check: 'cluster', level: 'error', about: 'member b (ws://b.test:7001)' },
  ],
  [
    'another wire version',
    { connect: { b: new LatchkeyError('ERR_PROTOCOL', 'The client speaks wire versions 9 to 9.') } },
    { check: 'version', level: 'error' },
  ],
  ['a missing member', { members: { c: 'down' } }, { check: 'port', level: 'error' }],
  [
    'a date that is wrong',
    { members: { c: { dateMillis: Date.now() - 10 * DAY } } },
    { check: 'clock', level: 'warning', about: 'member c' },
  ],
  [
    'a member that lags',
    {
      members: {
        a: {
          members: IDS.map((id) => ({
            ...{ id, url: urlOf(id), role: 'voter', alive: true, lag: id === 'c' ? 50_000 : 0 },
          })),
        },
      },
    },
    { check: 'lag', level: 'warning', about: 'member c' },
  ],
]

test.each(PLANTED)('%s is found, and nothing else', async (_, world, expected) => {
  const { code, faults } = await doctor(world)
  expect(faults).toEqual([expect.objectContaining(expected)])
  expect(code).toBe(faults.some(({ level }) => level === 'error') ? 1 : 0)
})

test('no leader: why, and what to do', async () => {
  const leaderless = {
    leader: undefined,
    whyNoLeader: 'Nobody leads: members b, c are missing.',
    role: 'candidate',
  } as const
  const { code, faults } = await doctor({ members: { a: leaderless, b: 'down', c: 'down' } })
  expect(code).toBe(1)
  expect(faults).toContainEqual(
    expect.objectContaining({ check: 'leader', message: 'Nobody leads: members b, c are missing.' }),
  )
})

test('no member answers: exit code 69, and still what is known', async () => {
  const { code, faults, findings } = await doctor({ members: { a: 'down' } })
  expect(code).toBe(69)
  expect(faults).toMatchObject([{ check: 'port', about: urlOf('a') }])
  // Who has seen no member must not be told that the majority is lost.
  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'leader',
      level: 'skipped',
      message: expect.stringContaining('not known') as string,
    }),
  )
})

test('all clocks differ from the one here in the same way: it is the one here', async () => {
  const { faults } = await doctor({ members: { a: { rate: 5_000 }, b: { rate: 5_000 }, c: { rate: 5_000 } } })
  expect(faults).toMatchObject([{ check: 'clock', about: 'this machine' }])
})

test('OP1: a stall between question and answer makes the rate uncertain, and not wrong', () => {
  const exact = [
    { sentAt: 0, cameAt: 0, uptimeMillis: 1000 },
    { sentAt: 3000, cameAt: 3000, uptimeMillis: 4030 },
  ]
  expect(rateOf(exact)).toEqual({ least: 1.01, most: 1.01 })
  const stalled = [
    { sentAt: 0, cameAt: 1000, uptimeMillis: 1000 },
    { sentAt: 3000, cameAt: 3000, uptimeMillis: 4000 },
  ]
  expect(rateOf(stalled)).toEqual({ least: 1, most: 1.5 })
  expect(rateOf(exact.slice(1))).toBeUndefined()
  expect(rateOf([exact[1], exact[0]].flatMap((one) => one ?? []))).toBeUndefined()
})

test('the real probe of a disk measures syncs, leaves nothing behind, and says what it cannot do', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-doctor-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const probes = realProbes(systemClock(uptime))
  const found = await probes.disk(dir)
  expect(found.syncMillis).toHaveLength(16)
  expect(found.totalBytes).toBeGreaterThan(0)
  expect(readdirSync(dir)).toEqual([])
  expect((await probes.disk(join(dir, 'none'))).error).toContain('ENOENT')
})

test('the real probe of a port: somebody listens, or nobody does', async () => {
  const probes = realProbes(systemClock(uptime))
  const server = createServer()
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
  expect(await probes.dial('127.0.0.1', port)).toBeUndefined()
  await new Promise((resolve) => server.close(resolve))
  expect(await probes.dial('127.0.0.1', port)).toBe('ECONNREFUSED')
  expect(await probes.lookup('127.0.0.1')).toEqual(['127.0.0.1'])
})
