// Test: calls that change the cluster are sent once; calls that only read are repeated until they are
// answered.

import { type AdminCall, errorAnswer, okAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'
import type { ClientStore } from './create-store.js'

const STATUS = {
  id: 'a',
  role: 'leader',
  leader: null,
  term: 1,
  commit: 1,
  applied: 1,
  clusterTime: 1,
  clusterId: 'x',
  members: [
    { id: 'a', url: 'ws://a', role: 'voter', lag: null, alive: null },
    { id: 'b', url: 'ws://b', role: 'voter', lag: 3, alive: false },
  ],
}

interface Row {
  readonly call: AdminCall
  readonly args: readonly unknown[]
  readonly changes: boolean
  readonly run: (store: ClientStore) => Promise<unknown>
  /** The result in the member's answer; null by default. */
  readonly answer?: unknown
  /** The result that the caller gets. */
  readonly result?: unknown
}

const ROWS: readonly Row[] = [
  { call: 'ready', args: [], changes: false, run: (store) => store.ready() },
  {
    call: 'status',
    args: [],
    changes: false,
    run: (store) => store.status(),
    answer: STATUS,
    result: {
      ...STATUS,
      leader: undefined,
      members: [
        { id: 'a', url: 'ws://a', role: 'voter', lag: undefined, alive: undefined },
        { id: 'b', url: 'ws://b', role: 'voter', lag: 3, alive: false },
      ],
    },
  },
  {
    call: 'sessions.list',
    args: [],
    changes: false,
    run: (store) => store.sessions.list(),
    answer: [],
    result: [],
  },
  {
    call: 'sessions.end',
    args: ['7'],
    changes: true,
    run: (store) => store.sessions.end(7),
    answer: true,
    result: true,
  },
  {
    call: 'members.add',
    args: ['d', 'ws://d:1'],
    changes: true,
    run: (store) => store.members.add('d', 'ws://d:1'),
  },
  { call: 'members.promote', args: ['d'], changes: true, run: (store) => store.members.promote('d') },
  {
    call: 'members.update',
    args: ['d', 'wss://d:2'],
    changes: true,
    run: (store) => store.members.update('d', 'wss://d:2'),
  },
  { call: 'members.remove', args: ['d'], changes: true, run: (store) => store.members.remove('d') },
  { call: 'members.rebuild', args: ['d'], changes: true, run: (store) => store.members.rebuild('d') },
  { call: 'transferLeadership', args: ['d'], changes: true, run: (store) => store.transferLeadership('d') },
  { call: 'transferLeadership', args: [null], changes: true, run: (store) => store.transferLeadership() },
  {
    call: 'snapshot',
    args: [],
    changes: true,
    run: (store) => store.snapshot(),
    answer: { bytesBefore: 5, bytesAfter: 3 },
    result: { bytesBefore: 5, bytesAfter: 3 },
  },
]

// Without this law: an operator removes a member and the connection breaks. Another operator adds the member
// again, and then the client repeats the removal. Or `status` fails with "it may or may not have been
// applied", although a status applies nothing.
test.each(ROWS)(
  '$call $args: sent once if it changes the cluster, otherwise repeated ($changes)',
  async (row) => {
    const { world, cluster, store } = scene('admin')
    const client = store()
    await world.run(50)
    const asked: { call: AdminCall; args: readonly unknown[] }[] = []
    cluster.admin = ({ call, args }) => {
      asked.push({ call, args })
      if (asked.length === 1) for (const link of [...cluster.links]) link.break()
      return { answer: okAnswer(row.answer ?? null), never: false }
    }
    const seen = follow(row.run(client))
    await world.run(2_000)
    const one = { call: row.call, args: row.args }
    expect(asked).toEqual(row.changes ? [one] : [one, one])
    if (row.changes)
      expect(seen.fate).toMatchObject({ error: { code: 'ERR_OUTCOME_UNKNOWN', outcome: 'unknown' } })
    else expect(seen.fate).toEqual({ is: 'ok', value: row.result })

    // If the member answers at once, every call resolves to its result.
    const second = follow(row.run(client))
    await world.run(100)
    expect(second.fate).toEqual({ is: 'ok', value: row.result })

    // If the member does not know the outcome, a call that changes the cluster is not sent again.
    asked.length = 0
    cluster.admin = ({ call, args }) => {
      asked.push({ call, args })
      const answer = asked.length === 1 ? errorAnswer('ERR_OUTCOME_UNKNOWN') : okAnswer(row.answer ?? null)
      return { answer, never: false }
    }
    const third = follow(row.run(client))
    await world.run(1_000)
    expect(asked).toHaveLength(row.changes ? 1 : 2)
    expect(codeOf(third)).toBe(row.changes ? 'ERR_OUTCOME_UNKNOWN' : 'ok')
  },
)

test('the default timeouts: none for snapshot(), 30 s for ready(), 5 s for the others', async () => {
  const { world, cluster, store } = scene('limits')
  const client = store()
  await world.run(50)
  cluster.silent.add('a')
  const [ready, snapshot] = [follow(client.ready()), follow<unknown>(client.snapshot())]
  const others = [client.status(), client.sessions.list(), client.members.remove('b')].map((call) =>
    follow<unknown>(call),
  )
  const limited = follow(client.ready({ timeout: 300 }))
  await world.run(400)
  expect(codeOf(limited)).toMatch(/ERR_TIMEOUT|ERR_NO_LEADER/)
  expect(others.map(codeOf)).toEqual(['pending', 'pending', 'pending'])
  await world.run(4_700)
  expect(others.map(codeOf)).not.toContain('pending')
  await world.run(24_500)
  expect(codeOf(ready)).toBe('pending')
  await world.run(1_000)
  expect(codeOf(ready)).toMatch(/ERR_TIMEOUT|ERR_NO_LEADER/)
  await world.run(600_000)
  expect(codeOf(snapshot)).toBe('pending')
})

test('names, addresses and numbers that no member accepts reject the promise here', async () => {
  const { world, cluster, store } = scene('arguments')
  const client = store()
  await world.run(50)
  const { members, sessions } = client
  const most = 'a'.repeat(64)
  for (const id of ['', '-a', '.a', 'a b', 'a/b', `${most}a`, 5 as unknown as string])
    for (const call of [members.add(id, 'ws://d:1'), members.remove(id), client.transferLeadership(id)])
      await expect(call).rejects.toThrow(/^id must be 1 to 64 letters/)
  for (const url of ['', 'd:1', 'http://d:1', 'ws://', 7 as unknown as string])
    await expect(members.add('d', url)).rejects.toThrow(/^url must be an address/)
  for (const id of [0, -1, 1.5, Number.NaN, 2 ** 53, '1' as unknown as number])
    await expect(sessions.end(id)).rejects.toThrow(/^id must be the number of a session/)
  expect(cluster.requests.filter(({ kind }) => kind === 'admin')).toEqual([])
  const fine = [members.remove(most), members.remove('0.-_z')].map((call) => follow(call))
  await world.run(50)
  expect(fine.map(codeOf)).toEqual(['ok', 'ok'])
})
