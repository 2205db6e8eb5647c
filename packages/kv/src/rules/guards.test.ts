// Test: a guarded write is applied only while the hold with its token is in force. Also: sequences, and lock
// commands through the log.

import { OP, READ } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf, show } from '../testing/results-as-text.js'
import { World, k, record } from '../testing/state-machine-with-own-log.js'

let w: World
beforeEach(async () => {
  w = await World.open()
})
const lock = (id: string, lease = 1_000, wait: number | null = null) =>
  [OP.tryLock, k('l'), null, false, id, lease, 0, null, wait] as const

describe('guards', () => {
  const writes = (token: number) =>
    [
      [OP.put, [k('l'), token], k('a'), k('1')],
      [OP.putAll, [k('l'), token], [[k('a'), k('1')]]],
      [OP.putIfAbsent, [k('l'), token], k('a'), k('1')],
      [OP.getAndPut, [k('l'), token], k('a'), k('1')],
      [OP.compareAndPutAll, [k('l'), token], [[k('a'), null, k('1')]]],
      [OP.merge, [k('l'), token], k('a'), k('1')],
      [OP.deleteAll, [k('l'), token], [k('a')]],
      [OP.deleteRange, [k('l'), token], k('a'), k('b')],
      [OP.batch, [k('l'), token], []],
      [OP.txn, [k('l'), token], [], [], []],
      [OP.nextSequence, [k('l'), token], k('a'), 1],
      [OP.resetSequence, [k('l'), token], k('a')],
    ] as const

  test('K39: no hold, another token, or an expired hold: ERR_FENCED, and nothing is changed', async () => {
    const before = () => w.machine.revision
    const expectFenced = async (token: number, holder: unknown) => {
      for (const answer of await w.run(...writes(token))) {
        expect(codeOf(answer)).toBe('ERR_FENCED')
        expect((answer as unknown[])[4]).toEqual(holder)
      }
    }
    await expectFenced(1, null)
    await w.one(lock('me'))
    await w.tick(400)
    await expectFenced(2, ['me', null, 1, 600, 400])
    await w.tick(601)
    await expectFenced(1, null)
    expect(before()).toBe(0)
    expect(w.machine.read([READ.sequence, k('a')])).toBe(0)
  })

  test('a hold in force, up to its deadline: every write is executed', async () => {
    await w.one(lock('me'))
    await w.tick(1_000)
    for (const answer of await w.run(...writes(1))) expect(codeOf(answer)).toBeUndefined()
  })

  test('K39: a release and a guarded write in one entry, in both orders', async () => {
    await w.one(lock('me'))
    const write = [OP.put, [k('l'), 1], k('a'), k('1')] as const
    const release = [OP.release, k('l'), 'me', 1, true] as const
    const [first, , second] = await w.run(write, release, write)
    expect(first).toBe(1)
    expect(codeOf(second)).toBe('ERR_FENCED')
  })
})

describe('sequences', () => {
  const next = (step: number) => w.one([OP.nextSequence, null, k('s'), step])

  test('blocks never overlap; reset begins at 0 again; a block takes no revision', async () => {
    expect(w.machine.read([READ.sequence, k('s')])).toBe(0)
    expect(await next(10)).toEqual([0, 10])
    expect(await next(1)).toEqual([10, 11])
    await w.restart()
    expect(w.machine.read([READ.sequence, k('s')])).toBe(11)
    expect(await next(5)).toEqual([11, 16])
    expect(await w.one([OP.resetSequence, null, k('s')])).toBe(true)
    expect(await next(2)).toEqual([0, 2])
    expect(w.machine.revision).toBe(0)
  })

  test('up to 2^53 - 1 and not beyond', async () => {
    expect(await next(Number.MAX_SAFE_INTEGER)).toEqual([0, Number.MAX_SAFE_INTEGER])
    expect(codeOf(await next(1))).toBe('ERR_TOO_LARGE')
    expect(w.machine.read([READ.sequence, k('s')])).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('locks through the log', () => {
  test('acquire, refuse, queue, grant to a waiter with a push, query', async () => {
    const other = await w.openSession()
    const [got] = await w.run(lock('me'))
    expect(got).toEqual([['me', w.time + 1000, -1, 1, 1, null, 0, w.time], false])
    const [refused, queued] = await w.run(lock('other'), lock('third', 1_000, 0))
    expect((refused as unknown[][])[0]?.slice(0, 3)).toEqual(['me', w.time + 1000, 1000])
    expect((queued as unknown[])[1]).toBe(true)
    await w.answers([record(other, 1, lock('fourth', 2_000, 500))])
    expect(show(w.machine.read([READ.lockQuery, k('l'), false, false]))).toEqual([
      ['l', 'me', null, 1, 1, 1000, 2, 0, null, 0],
    ])
    await w.one([OP.release, k('l'), 'me', 1, true])
    expect(w.granted).toEqual([[w.session, 'l', ['third', w.time + 1000, -1, 2, 1, null, 0, w.time]]])
    expect(w.machine.read([READ.ticket, k('l'), 'third'])).toEqual([
      'granted',
      ['third', w.time + 1000, -1, 2, 1, null, 0, w.time],
    ])
    expect(w.machine.read([READ.ticket, k('l'), 'fourth'])).toEqual(['queued', null])
  })

  test('CT3: in one entry first sessions end, then waits, then holds, and only then commands run', async () => {
    const short = await w.openSession(1_000)
    const long = await w.openSession(60_000)
    await w.one(lock('me', 1_000))
    await w.answers([
      record(short, 1, lock('dead-session', 1_000, 0)),
      record(long, 1, lock('gave-up', 1_000, 900)),
      record(long, 2, lock('patient', 5_000, 0)),
    ])
    w.time += 1_001
    const [late] = await w.answers([record(long, 3, lock('late', 1_000))])
    expect(w.granted).toEqual([[long, 'l', ['patient', w.time + 5_000, -2, 2, 1, null, 1, w.time]]])
    expect(late).toEqual([0, [['patient', w.time + 5_000, 5_000, 0, 0, null, 5, w.time], false]])
  })

  test('nextDeadline is the earliest deadline, and an entry after it moves it on', async () => {
    const opened = w.time
    expect(w.machine.nextDeadline()).toBe(opened + 30_000)
    await w.one(lock('me', 400))
    expect(w.machine.nextDeadline()).toBe(opened + 400)
    await w.tick(401)
    expect(w.machine.nextDeadline()).toBe(opened + 30_000)
    await w.tick(40_000)
    expect(w.machine.nextDeadline()).toBeUndefined()
  })

  test('a read may have a later cluster time than the last entry', async () => {
    await w.one(lock('me', 1_000))
    const later = w.machine.read([READ.lockQuery, null, false, false], w.time + 400)
    expect(show(later)).toEqual([['l', 'me', null, 1, 1, 600, 0, 400, null, 0]])
    expect(w.machine.read([READ.lockQuery, null, false, false], w.time + 1_001)).toEqual([])
    expect(w.machine.read([READ.lockQuery, null, false, false], 0)).toHaveLength(1)
  })
})
