// Test: calls are applied exactly once (docs/locks.md, section 6): repeated calls, changed requests, finished
// numbers, cancelled calls, limits, and the end of a session.

import { type Command, OP, READ, encodeCommand, pack, unpack } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf, show } from '../testing/results-as-text.js'
import { World, k, record } from '../testing/state-machine-with-own-log.js'

let w: World
beforeEach(async () => {
  w = await World.open({ limits: { sessions: 3, sessionNumbers: 4, sessionAnswerBytes: 3_000 } })
})
const send = async (session: number, number: number, command: Command, done = 0) => {
  const [answer] = await w.raw([record(session, number, command, done)])
  const value = unpack(answer?.bytes as Uint8Array) as unknown[]
  return {
    result: value[0] === 0 ? value[1] : value,
    bytes: Buffer.from(answer?.bytes as Uint8Array).toString('hex'),
    fromTable: answer?.fromTable,
  }
}
const errorOf = async (sent: ReturnType<typeof send>) => codeOf((await sent).result)

describe('C2, A7: each call that must not be applied twice, sent again: the first answer, byte for byte, and no effect', () => {
  const calls: [string, Command][] = [
    ['put', [OP.put, null, k('a'), k('2')]],
    ['putAll', [OP.putAll, null, [[k('a'), k('2')]]]],
    ['putIfAbsent', [OP.putIfAbsent, null, k('new'), k('2')]],
    ['getAndPut', [OP.getAndPut, null, k('a'), k('2')]],
    ['compareAndPutAll', [OP.compareAndPutAll, null, [[k('a'), k('1'), k('2')]]]],
    ['merge', [OP.merge, null, k('a'), k('2')]],
    ['deleteAll', [OP.deleteAll, null, [k('a')]]],
    ['deleteRange', [OP.deleteRange, null, k('a'), k('b')]],
    ['batch', [OP.batch, null, [[1, k('a'), k('2')]]]],
    ['txn', [OP.txn, null, [], [[1, k('a'), k('2')]], []]],
    ['nextSequence', [OP.nextSequence, null, k('s'), 5]],
    ['tryLock', [OP.tryLock, k('l'), null, false, 'me', 1_000, 0, null, null]],
    ['tryLock again', [OP.tryLock, k('held'), null, false, 'me', 1_000, 0, null, null]],
    ['queue', [OP.tryLock, k('held'), null, false, 'you', 1_000, 0, null, 0]],
    ['release', [OP.release, k('held'), 'me', 0, false]],
    ['forceRelease', [OP.forceRelease, k('held'), 1]],
  ]
  beforeEach(async () => {
    await w.run(
      [OP.put, null, k('a'), k('1')],
      [OP.tryLock, k('held'), null, false, 'me', 60_000, 0, null, null],
      [OP.tryLock, k('held'), null, false, 'me', 60_000, 0, null, null],
    )
    await send(w.session, 0, [OP.keepAlive], 10)
  })

  test.each(calls)('%s', async (_, command) => {
    const first = await send(w.session, 10, command)
    const before = w.machine.stateHash()
    expect(first.fromTable).toBe(false)
    const again = await send(w.session, 10, command)
    expect(again).toEqual({ ...first, fromTable: true })
    expect({ ...w.machine.stateHash().spaces, meta: '' }).toEqual({ ...before.spaces, meta: '' })
    await w.restart()
    expect(await send(w.session, 10, command)).toEqual({ ...first, fromTable: true })
  })

  test('both copies of a call in one entry', async () => {
    const command = [OP.merge, null, k('a'), k('2')] as const
    const answers = await w.raw([record(w.session, 10, command), record(w.session, 10, command)])
    expect(answers.map(({ fromTable }) => fromTable)).toEqual([false, true])
    expect(show(w.machine.read([READ.get, k('a')]))).toBe('1,2')
  })
})

describe('numbers', () => {
  const put = [OP.put, null, k('a'), k('1')] as const

  test('A8: a number that is used again for another request is refused', async () => {
    await send(w.session, 1, put)
    expect(await errorOf(send(w.session, 1, [OP.put, null, k('a'), k('2')]))).toBe('ERR_PROTOCOL')
    expect(show(w.machine.read([READ.get, k('a')]))).toBe('1')
  })

  test('A7: a number below done is refused, never executed; done never goes back', async () => {
    await send(w.session, 1, put)
    await send(w.session, 2, put, 2)
    expect(await errorOf(send(w.session, 1, put))).toBe('ERR_PROTOCOL')
    expect(await errorOf(send(w.session, 1, put, 1))).toBe('ERR_PROTOCOL')
    expect(await errorOf(send(w.session, 3, put, 4))).toBe('ERR_PROTOCOL')
    expect(w.machine.revision).toBe(2)
  })

  test('calls are executed in the order in which they arrive', async () => {
    expect((await send(w.session, 3, put)).result).toBe(1)
    expect((await send(w.session, 1, put)).result).toBe(2)
    expect((await send(w.session, 2, put)).result).toBe(3)
  })

  test('a large jump of done costs nothing', async () => {
    await send(w.session, 1, put)
    expect((await send(w.session, 2 ** 47, put, 2 ** 47)).result).toBe(2)
    expect((await send(w.session, 2 ** 47, put, 0)).fromTable).toBe(true)
  })

  test('too many kept replies: the call is not executed, and the same number succeeds later', async () => {
    for (let number = 1; number <= 4; number++) await send(w.session, number, put)
    expect(await errorOf(send(w.session, 5, put))).toBe('SESSION_FULL')
    expect((await send(w.session, 5, put, 2)).result).toBe(5)
  })

  test('the lowest unfinished number is always executed, because the others wait for it', async () => {
    for (let number = 2; number <= 5; number++) await send(w.session, number, put, 1)
    expect(await errorOf(send(w.session, 6, put, 1))).toBe('SESSION_FULL')
    expect((await send(w.session, 1, put, 1)).result).toBe(5)
    expect((await send(w.session, 1, put, 1)).fromTable).toBe(true)
    expect(await errorOf(send(w.session, 6, put, 2))).toBe('SESSION_FULL')
    expect((await send(w.session, 6, put, 6)).result).toBe(6)
  })

  test('too many bytes in kept replies: the call is not executed', async () => {
    await send(w.session, 1, [OP.put, null, k('big'), new Uint8Array(4_000)])
    await send(w.session, 2, [OP.getAndPut, null, k('big'), k('')])
    expect(await errorOf(send(w.session, 3, put))).toBe('SESSION_FULL')
    expect((await send(w.session, 3, put, 3)).result).toBe(3)
  })

  test('the bytes in kept replies have one bound, to the byte', async () => {
    for (const [bytes, ends] of [
      [2_999, 3],
      [3_000, 'SESSION_FULL'],
    ] as const) {
      w = await World.open({ limits: { sessions: 3, sessionNumbers: 4, sessionAnswerBytes: 3_000 } })
      // The answer to the second call has the value of the first one, and is the only one that is kept.
      await send(w.session, 1, [OP.put, null, k('a'), new Uint8Array(bytes - 5)])
      const { bytes: kept } = await send(w.session, 2, [OP.getAndPut, null, k('a'), k('')], 2)
      expect(kept.length / 2).toBe(bytes)
      const third = await send(w.session, 3, put, 2)
      expect(ends === 3 ? third.result : codeOf(third.result)).toBe(ends)
    }
  })

  test('a large kept answer is dropped from memory, but not from the store', async () => {
    await send(w.session, 1, [OP.put, null, k('big'), new Uint8Array(2_000).fill(9)])
    const first = await send(w.session, 2, [OP.getAndPut, null, k('big'), k('')])
    await w.machine.flush()
    expect(await send(w.session, 2, [OP.getAndPut, null, k('big'), k('')])).toEqual({
      ...first,
      fromTable: true,
    })
  })

  test('only calls that may be applied twice need no number', async () => {
    expect(await errorOf(send(w.session, 0, put))).toBe('ERR_PROTOCOL')
    expect((await send(w.session, 0, [OP.keepAlive])).result).toBe(true)
    expect(w.machine.revision).toBe(0)
  })
})

describe('cancelCall', () => {
  const put = [OP.put, null, k('a'), k('1')] as const

  test('a cancelled number that arrives later is never executed', async () => {
    expect((await send(w.session, 5, [OP.cancelCall, 7])).result).toBe(true)
    expect(await errorOf(send(w.session, 7, put))).toBe('ERR_ABORTED')
    expect((await send(w.session, 0, [OP.cancelCall, 7])).result).toBe(true)
    await w.restart()
    expect(await errorOf(send(w.session, 7, put))).toBe('ERR_ABORTED')
    expect(w.machine.revision).toBe(0)
  })

  test('cancelling does not change a number that was executed or is finished', async () => {
    const first = await send(w.session, 1, put)
    expect((await send(w.session, 2, [OP.cancelCall, 1])).result).toBe(false)
    expect(await send(w.session, 1, put)).toEqual({ ...first, fromTable: true })
    expect((await send(w.session, 3, [OP.cancelCall, 1], 2)).result).toBe(false)
    expect(await errorOf(send(w.session, 4, [OP.cancelCall, 4]))).toBe('ERR_PROTOCOL')
  })
})

describe('the life of a session', () => {
  test('its id is the index of its entry; only openSession opens it, alone in its entry', async () => {
    expect(await w.openSession()).toBe(w.log.length)
    const open = { session: 0, number: 0, done: 0, body: encodeCommand([OP.openSession, 1_000]) }
    const answers = await w.answers([open, open])
    expect(answers.map(codeOf)).toEqual(['ERR_PROTOCOL', 'ERR_PROTOCOL'])
    expect(await errorOf(send(w.session, 1, [OP.openSession, 1_000]))).toBe('ERR_PROTOCOL')
    expect(await errorOf(send(0, 1, [OP.put, null, k('a'), k('1')]))).toBe('ERR_PROTOCOL')
    expect(await errorOf(send(999, 1, [OP.put, null, k('a'), k('1')]))).toBe('SESSION_OVER')
    expect(w.machine.revision).toBe(0)
  })

  test('too many: ERR_BUSY', async () => {
    await w.openSession()
    await w.openSession()
    const [answer] = await w.answers([
      { session: 0, number: 0, done: 0, body: encodeCommand([OP.openSession, 1_000]) },
    ])
    expect(codeOf(answer)).toBe('ERR_BUSY')
  })

  test('it ends when now > deadline, and any command of it renews it, also a refused one', async () => {
    await w.tick(30_000)
    expect(await errorOf(send(w.session, 0, [OP.put, null, k('a'), k('1')]))).toBe('ERR_PROTOCOL')
    await w.tick(30_000)
    expect((await send(w.session, 0, [OP.keepAlive])).result).toBe(true)
    w.time += 30_001
    expect(await errorOf(send(w.session, 0, [OP.keepAlive]))).toBe('SESSION_OVER')
    expect(await errorOf(send(w.session, 1, [OP.put, null, k('a'), k('1')]))).toBe('SESSION_OVER')
    expect(w.machine.revision).toBe(0)
  })

  test('its end removes its waiters and kept replies, but never a hold', async () => {
    await w.run(
      [OP.tryLock, k('l'), null, false, 'me', 3_600_000, 0, null, null],
      [OP.tryLock, k('l'), null, false, 'you', 1_000, 0, null, 0],
    )
    expect((await send(w.session, 99, [OP.closeSession])).result).toBe(true)
    expect(show(w.machine.read([READ.lockQuery, null, false, false]))).toMatchObject([
      ['l', 'me', null, 1, 1, 3_600_000, 0, 0, null, 0],
    ])
    const { spaces } = w.machine.stateHash()
    expect(
      [spaces['sessions'], spaces['replies'], spaces['waiters']].map((sum) => sum?.split('-')[0]),
    ).toEqual(['0', '0', '0'])
    await w.restart()
    expect(w.machine.stateHash().spaces).toEqual(spaces)
  })

  test('K21: a grant that its session does not touch ends; any command of the session touches it', async () => {
    const waiting = await w.openSession(5_000)
    const lock = (id: string) => [OP.tryLock, k('l'), null, false, id, 60_000, 0, null, 0] as const
    await w.one(lock('me'))
    await send(waiting, 1, lock('you'))
    await w.one([OP.release, k('l'), 'me', 0, true])
    await send(w.session, 50, lock('third'))
    await w.tick(5_001)
    expect((w.machine.read([READ.lockOwner, k('l')]) as unknown[])[0]).toBe('third')
    await send(w.session, 0, [OP.keepAlive])
    await w.tick(6_000)
    expect((w.machine.read([READ.lockOwner, k('l')]) as unknown[])[0]).toBe('third')
  })

  test('K21: of two grants one is taken away by an administrator: the other one is touched all the same', async () => {
    const waiting = await w.openSession(5_000)
    const lock = (key: string, id: string) =>
      [OP.tryLock, k(key), null, false, id, 60_000, 0, null, 0] as const
    await w.run(lock('x', 'me'), lock('y', 'me'))
    await send(waiting, 1, lock('x', 'you'))
    await send(waiting, 2, lock('y', 'you'))
    await w.run([OP.release, k('x'), 'me', 0, true], [OP.release, k('y'), 'me', 0, true])
    const owner = (key: string) => w.machine.read([READ.lockOwner, k(key)]) as [string, ...number[]]
    await w.one([OP.forceRelease, k('x'), owner('x')[3] as number])
    await send(w.session, 50, lock('y', 'third'))
    for (let i = 0; i < 3; i++) {
      await send(waiting, 0, [OP.keepAlive])
      await w.tick(4_000)
    }
    expect(owner('y')[0]).toBe('you')
  })
})

describe('malformed commands', () => {
  const bad: [string, Uint8Array][] = [
    ['not MessagePack', Uint8Array.of(0xc1)],
    ['nothing', new Uint8Array(0)],
    ['not an array', pack('put')],
    ['a wrong shape', pack([OP.put, null, k('a')])],
    ['a wrong type', pack([OP.put, null, 'a', k('1')])],
    ['an empty key', pack([OP.put, null, k(''), k('1')])],
    ['a key too long', pack([OP.put, null, new Uint8Array(4097), k('1')])],
    ['a value too long', pack([OP.put, null, k('a'), new Uint8Array(1024 * 1024 + 1)])],
    ['a negative step', pack([OP.nextSequence, null, k('a'), -1])],
    ['nested too deeply', Buffer.alloc(100_000, 0x91)],
  ]
  test.each(bad)('A4: %s: an error, the same everywhere, kept, and nothing is changed', async (_, body) => {
    const answer = async () => {
      const [given] = await w.raw([{ session: w.session, number: 1, done: 0, body }])
      return given
    }
    const first = await answer()
    expect(codeOf(unpack(first?.bytes as Uint8Array))).toBe('ERR_PROTOCOL')
    expect(await answer()).toEqual({ ...first, fromTable: true })
    expect(w.machine.revision).toBe(0)
  })

  test('A6: an operation of a later version stops the member, with the entry in the message, and nothing of it is written', async () => {
    await w.machine.flush()
    const list = [
      w.next([OP.put, null, k('a'), k('1')]),
      { session: w.session, number: 9, done: 0, body: pack([99, k('a')]) },
    ]
    await expect(w.raw(list)).rejects.toThrow('Entry 2')
    await expect(w.machine.flush()).rejects.toThrow('Entry 2')
    expect(() => w.machine.read([READ.get, k('a')])).toThrow('Entry 2')
    await w.machine.close()
    w.log.pop()
    await w.reopen()
    expect(w.machine.read([READ.get, k('a')])).toBeNull()
  })
})
