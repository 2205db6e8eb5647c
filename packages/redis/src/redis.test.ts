// Test: the engines on Redis without a server: their arguments, how they interpret errors, their time, and
// how they count votes.

import type { Clock, Instant } from '@latchkey/base'
import { notReached, refusedByServer, ClientClock } from '@latchkey/lock'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { locksFromUrl, redisLocks, redisQuorumLocks } from './index.js'
import { toLockError } from './outcome-of-redis-error.js'
import { Votes, vote } from './ask-all-masters.js'

/** Clients that never connect. */
const nowhere = () => new Redis({ lazyConnect: true, host: '127.0.0.1', port: 1 })

test('wrong options are a TypeError that names them', () => {
  const client = nowhere()
  expect(() => redisLocks({} as never)).toThrow(/client must be a client of ioredis/)
  expect(() => redisLocks({ client, prefx: 'x' } as never)).toThrow(
    /unknown option "prefx" of redisLocks: did you mean "prefix"/,
  )
  expect(() => redisLocks({ client, prefix: '' })).toThrow(/prefix must be/)
  expect(() => redisLocks({ client, survives: 'failover' as never })).toThrow(/survives must be/)
  const cluster = { duplicate: () => {}, isCluster: true }
  expect(() => redisLocks({ client: cluster as never })).toThrow(/is a Redis Cluster/)
  expect(() => redisQuorumLocks({ clients: [client] })).toThrow(/list of 3 to 9 clients/)
  expect(() => redisQuorumLocks({ clients: [client, client, client] })).toThrow(/one client twice/)
})

test('an address that is none is a TypeError, and shows no password', async () => {
  await expect(locksFromUrl('redis://:secret@')).rejects.toThrow(/is redis:\/\/host:port/)
  await expect(locksFromUrl('redis+quorum://:secret@a,,b')).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  )
})

test('capabilities: one server tells of its tokens; a quorum has none, which is also a warning of the process', async () => {
  await using one = redisLocks({ client: nowhere() })
  expect(one.capabilities).toEqual({
    fencing: 'told',
    queue: 'fair',
    wakeUp: 'push',
    survives: 'nothing',
    time: 'server',
  })
  const warned = new Promise((resolve) => process.once('warning', resolve))
  await using many = redisQuorumLocks({ clients: [nowhere(), nowhere(), nowhere()] })
  expect(many.capabilities).toMatchObject({ fencing: 'none', queue: 'unfair', time: 'client' })
  expect(await warned).toMatchObject({ code: 'LATCHKEY_NO_FENCING' })
})

test.each([
  ['one server', () => redisLocks({ client: nowhere() })],
  ['three masters', () => redisQuorumLocks({ clients: [nowhere(), nowhere(), nowhere()] })],
] as const)('%s not there: the wait ends with ERR_NO_LEADER, and nothing was applied', async (_, make) => {
  await using engine = make()
  const error = await engine.locks.acquire('k', { wait: '3s' }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'ERR_NO_LEADER', outcome: 'not-applied' })
})

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })
test.each([
  [
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    'ERR_NO_LEADER',
    'not-applied',
  ],
  [reply('LOADING Redis is loading the dataset in memory'), 'ERR_NO_LEADER', 'not-applied'],
  [reply("READONLY You can't write against a read only replica."), 'ERR_NO_LEADER', 'not-applied'],
  [reply('NOREPLICAS Not enough good replicas to write.'), 'ERR_NO_LEADER', 'not-applied'],
  [reply("OOM command not allowed when used memory > 'maxmemory'."), 'ERR_NO_LEADER', 'not-applied'],
  [new Error('Connection is closed.'), 'ERR_OUTCOME_UNKNOWN', 'unknown'],
  [Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'ERR_OUTCOME_UNKNOWN', 'unknown'],
  [new Error('Command timed out'), 'ERR_OUTCOME_UNKNOWN', 'unknown'],
  [reply('LKFULL too many wait for this lock'), 'ERR_BUSY', 'not-applied'],
  [reply("NOPERM this user has no permissions to run the 'evalsha' command"), 'ERR_FORBIDDEN', 'not-applied'],
  [
    reply('WRONGTYPE Operation against a key holding the wrong kind of value'),
    'ERR_FORBIDDEN',
    'not-applied',
  ],
])('%s is %s, %s', (error, code, outcome) => {
  expect(toLockError(error)).toMatchObject({ code, outcome, cause: error })
})

test('the own time goes on by the fastest clock, and never back', () => {
  let instant: Instant = { hr: 0, up: 0, wall: 0 }
  const time = new ClientClock({ instant: () => instant } as Clock)
  const at = (hr: number, up: number, wall: number) => {
    instant = { hr, up, wall }
    return time.now()
  }
  expect(at(10, 10, 10)).toBe(11)
  // The machine slept for an hour: only the uptime and the date have gone on. The uptime counts with its error.
  expect(at(10, 3_600_020, 3_600_010)).toBe(3_600_036)
  // The date is set back by an hour.
  expect(at(20, 3_600_020, 10)).toBe(3_600_051)
  expect(at(30, 3_600_030, 20)).toBe(3_600_061)
  // Read often, it runs no faster: the date has whole milliseconds.
  for (let ms = 30; ms < 130; ms += 0.25) at(ms, 3_600_000 + ms, Math.floor(ms) - 10)
  expect(at(130, 3_600_130, 120)).toBeLessThan(3_600_163)
})

test('a vote is decided by a majority of all masters, not of those that answer', async () => {
  const yes = (answer: boolean) => answer
  const asked = await vote(
    [true, true, undefined],
    async (answer) => answer ?? Promise.reject(notReached()),
    () => false,
  )
  expect([asked.has(yes), asked.lacks(yes)]).toEqual([true, false])
  const split = await vote(
    [true, false, undefined],
    async (answer) => answer ?? Promise.reject(notReached()),
    () => false,
  )
  expect([split.has(yes), split.lacks(yes)]).toEqual([false, false])
  expect(split.failure()).toMatchObject({ code: 'ERR_NO_LEADER' })
  const against = await vote(
    [true, false, false],
    async (answer) => answer,
    () => false,
  )
  expect([against.has(yes), against.lacks(yes)]).toEqual([false, true])
})

test('one error whose outcome is unknown makes that of the call unknown; a refusal tells why', () => {
  const votes = new Votes<boolean>(3)
  votes.errors.push(notReached(), refusedByServer('no rights'))
  expect(votes.failure()).toMatchObject({ code: 'ERR_FORBIDDEN' })
  votes.errors.push(new Error('lost'))
  expect(votes.failure()).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
})
