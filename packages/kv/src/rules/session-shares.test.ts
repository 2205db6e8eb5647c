// Test: how many sessions one identity and all identities together may have, which idle sessions end for new
// ones, and how an administrator ends a session.

import { CAPS, type Command, ERROR_CODES, OP, decodeAnswer, encodeCommand } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '../testing/results-as-text.js'
import { World, k, record } from '../testing/state-machine-with-own-log.js'

const IDLE = 15_000
const BUSY = 1 + ERROR_CODES.indexOf('ERR_BUSY')
const DAY = CAPS.maxSessionLife
let w: World
beforeEach(async () => {
  w = new World({ limits: { sessions: 6, sessionsOfOne: 4, sessionIdleMillis: IDLE } })
  await w.machine.open()
})

const asked = async (command: Command): Promise<unknown> => {
  const [answer] = await w.answers([{ session: 0, number: 0, done: 0, body: encodeCommand(command) }])
  return answer?.[0] === 0 ? answer[1] : codeOf(answer)
}
const open = (by: string, life = DAY) => asked([OP.openSession, life, by])
const say = async (session: unknown, number: number, command: Command) =>
  await w.answers([record(session as number, number, command)])
const ids = () => w.machine.openSessions.list().map(([id]) => id)

describe('C25: each identity has a share of the sessions', () => {
  test('one identity has its share, and others still get sessions', async () => {
    for (let i = 0; i < 4; i++) expect(await open('greedy')).toEqual(expect.any(Number))
    expect(await open('greedy')).toBe('ERR_BUSY')
    expect(await open('modest')).toEqual(expect.any(Number))
    expect(await open('modest')).toEqual(expect.any(Number))
    expect(w.machine.openSessions.whyNone()).toContain('there are 6')
    expect(await open('modest')).toBe('ERR_BUSY')
  })

  test('A17: a refusal is known before anything is written into the log, and forgotten when there is room', async () => {
    const refusal = (by: string) => {
      const answer = w.machine.openSessions.refusalFor(by)
      return answer && decodeAnswer(answer)[0]
    }
    const mine = [await open('greedy'), await open('greedy'), await open('greedy')]
    expect(refusal('greedy')).toBeUndefined()
    mine.push(await open('greedy'))
    expect(refusal('greedy')).toBe(BUSY)
    expect(refusal('modest')).toBeUndefined()
    await open('modest')
    await open('modest')
    expect(refusal('somebody')).toBe(BUSY)
    await say(mine[0], 0, [OP.closeSession])
    w.clock.advance(200)
    expect([refusal('greedy'), refusal('somebody')]).toEqual([undefined, undefined])
    expect(await open('greedy')).toEqual(expect.any(Number))
    await w.tick(IDLE + 1)
    w.clock.advance(200)
    // By now all sessions have been silent for long, so one can be ended for a new one.
    expect([refusal('greedy'), refusal('somebody')]).toEqual([undefined, undefined])
  })

  test('the share counts after a restart too, and ended sessions are not part of it', async () => {
    const first = await open('greedy', 60_000)
    for (let i = 0; i < 3; i++) await open('greedy')
    await w.restart()
    expect(await open('greedy')).toBe('ERR_BUSY')
    await say(first, 0, [OP.closeSession])
    expect(await open('greedy')).toEqual(expect.any(Number))
    expect(w.machine.openSessions.list().every(([, by]) => by === 'greedy')).toBe(true)
  })

  test('an identity whose share is used up replaces its own session that was renewed first and holds nothing', async () => {
    const other = await open('modest')
    const mine = [await open('greedy'), await open('greedy'), await open('greedy'), await open('greedy')]
    await w.tick(IDLE + 1)
    expect(w.machine.openSessions.whyNone()).toBeUndefined()
    // The first session sends a command again, the second holds a lock, the third waits for that lock.
    await say(mine[0], 0, [OP.keepAlive])
    await say(mine[1], 1, [OP.tryLock, k('l'), null, false, 'a', DAY, 0, null, null])
    await say(mine[2], 1, [OP.tryLock, k('l'), null, false, 'b', DAY, 0, null, 0])
    await w.tick(IDLE + 1)
    await say(mine[0], 0, [OP.keepAlive])
    const next = await open('greedy')
    expect(ids()).toEqual([other, mine[0], mine[1], mine[2], next])
    expect(await open('greedy')).toBe('ERR_BUSY')
    expect(ids()).toContain(other)
  })

  test('an expired hold does not count as a hold, and a hold of an ended session stays', async () => {
    const mine = [await open('greedy'), await open('greedy'), await open('greedy'), await open('greedy')]
    for (const [i, session] of mine.entries())
      await say(session, 1, [OP.tryLock, k(`l${i}`), null, false, 'me', 20_000, 0, null, null])
    expect(w.machine.openSessions.list().map(([, , , , holds]) => holds)).toEqual([1, 1, 1, 1])
    await w.tick(19_000)
    expect(await open('greedy')).toBe('ERR_BUSY')
    await w.tick(2_000)
    await w.restart()
    expect(await open('greedy')).toEqual(expect.any(Number))
    expect(ids()).not.toContain(mine[0])
  })

  test('if all sessions are used, the longest idle one is ended, whoever opened it, and the same one after a restart', async () => {
    const all: unknown[] = []
    for (const by of ['a', 'a', 'a', 'b', 'b', 'b']) all.push(await open(by))
    await w.tick(IDLE + 1)
    await say(all[0], 0, [OP.keepAlive])
    await w.restart()
    expect(await open('c')).toEqual(expect.any(Number))
    expect(ids()).not.toContain(all[1])
    expect(ids()).toContain(all[0])
    await w.restart()
    expect(await open('c')).toEqual(expect.any(Number))
    expect(ids()).not.toContain(all[2])
  })

  test('of two sessions that were renewed at the same time the one with the lower number is ended', async () => {
    const all: unknown[] = []
    for (const by of ['a', 'a', 'a', 'b', 'b', 'b']) all.push(await open(by))
    await w.tick(IDLE + 1)
    await w.answers([4, 5].map((i) => record(all[i] as number, 0, [OP.keepAlive])))
    await w.tick(IDLE + 1)
    for (let i = 0; i < 4; i++) await open('c')
    expect(ids().slice(0, 2)).toEqual([all[4], all[5]])
    await w.tick(1)
    await open('d')
    expect(ids()).not.toContain(all[4])
    expect(ids()).toContain(all[5])
  })

  test('the life of a session is a day at most', async () => {
    expect(await open('a', DAY)).toEqual(expect.any(Number))
    expect(await open('a', DAY + 1)).toBe('ERR_PROTOCOL')
  })

  test('an administrator ends a session without having one: its waiters leave, its holds stay, and its commands are not executed any more', async () => {
    const mine = await open('a')
    const other = await open('b')
    await say(mine, 1, [OP.tryLock, k('held'), null, false, 'me', DAY, 0, null, null])
    await say(other, 1, [OP.tryLock, k('other'), null, false, 'you', DAY, 0, null, null])
    await say(mine, 2, [OP.tryLock, k('other'), null, false, 'me', DAY, 0, null, 0])
    expect(w.machine.openSessions.list()).toEqual([
      [mine, 'a', DAY, 0, 1, 1],
      [other, 'b', DAY, 0, 1, 0],
    ])
    // A client cannot end another session, because the command belongs to no session.
    expect((await say(other, 9, [OP.endSession, mine as number])).map(codeOf)).toEqual(['ERR_PROTOCOL'])
    expect(await asked([OP.endSession, mine as number])).toBe(true)
    expect(await asked([OP.endSession, mine as number])).toBe(false)
    expect((await say(mine, 3, [OP.put, null, k('a'), k('1')])).map(codeOf)).toEqual(['SESSION_OVER'])
    expect(ids()).toEqual([other])
    expect(w.machine.openSessions.list()[0]?.[5]).toBe(0)
  })
})
