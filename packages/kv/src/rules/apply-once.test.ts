// Test: a command inside applyOnce is applied only once (C73), and its answer is kept as the value of a key.

import {
  type Command,
  commandName,
  type InnerCommand,
  KIND,
  lockKeyOf,
  OP,
  pack,
  READ,
} from '@latchkey/protocol'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, show } from '../testing/results-as-text.js'
import { k, record, World } from '../testing/state-machine-with-own-log.js'

let w: World
beforeEach(async () => {
  w = await World.open()
})

const LIFE = 60_000
const once = (command: InnerCommand, key = 'once', digest = 'digest'): Command => [
  OP.applyOnce,
  [k(key), k(digest), LIFE],
  command,
]
const acquire = (id: string, key = k('l')): Command => [
  OP.tryLock,
  key,
  null,
  false,
  id,
  1_000,
  0,
  null,
  null,
]
const election = lockKeyOf(KIND.election, k('e'))
const latches = () => show(w.machine.read([READ.parties, 0, k('')]))
const OF_EACH_CALL = ['meta', 'sessions', 'replies']
/** The hash of each key space, except of those that every call changes. */
const stateWithoutCalls = () =>
  Object.entries(w.machine.stateHash().spaces).filter(([space]) => !OF_EACH_CALL.includes(space))
const isKept = () => w.machine.read([READ.contains, k('once')])

/** Each inner command with its answer. `before` runs first, and `between` runs before the repetition. */
const COMMANDS: readonly {
  readonly command: InnerCommand
  readonly answer: unknown
  readonly before?: Command
  readonly between?: Command
}[] = [
  {
    command: [OP.touch, null, k('a'), 5_000],
    answer: true,
    before: [OP.put, null, k('a'), k('1')],
    between: [OP.touch, null, k('a'), 9_000],
  },
  { command: [OP.touch, null, k('a'), 5_000], answer: false, between: [OP.put, null, k('a'), k('1')] },
  { command: [OP.nextSequence, null, k('s'), 10], answer: [0, 10] },
  {
    command: [OP.resetSequence, null, k('s')],
    answer: true,
    before: [OP.nextSequence, null, k('s'), 3],
    between: [OP.nextSequence, null, k('s'), 5],
  },
  {
    command: [OP.resize, lockKeyOf(KIND.semaphore, k('p')), 3],
    answer: true,
    between: [OP.resize, lockKeyOf(KIND.semaphore, k('p')), 7],
  },
  { command: [OP.createLatch, k('m'), 2], answer: true, between: [OP.removeLatch, k('m')] },
  { command: [OP.countDown, k('m'), 1], answer: 2, before: [OP.createLatch, k('m'), 3] },
  {
    command: [OP.removeLatch, k('m')],
    answer: true,
    before: [OP.createLatch, k('m'), 3],
    between: [OP.createLatch, k('m'), 1],
  },
]

const ROWS = COMMANDS.map((row) => [commandName(row.command[0]), row] as const)
test.each(ROWS)('C73: %s changes nothing the second time, and has the same answer', async (_, row) => {
  const { command, answer, before, between } = row
  if (before !== undefined) await w.one(before)
  expect(await w.one(once(command))).toEqual(answer)
  if (between !== undefined) await w.one(between)
  const state = stateWithoutCalls()
  // A command of another session, as the member of another caller sends it.
  const other = await w.openSession()
  expect((await w.answers([record(other, 1, once(command))]))[0]).toEqual([0, answer])
  expect(stateWithoutCalls()).toEqual(state)
  await w.restart()
  expect(await w.one(once(command))).toEqual(answer)
})

test('C73: the answer is kept for its life, and the command is applied again afterwards', async () => {
  await w.one([OP.createLatch, k('m'), 9])
  expect(await w.one(once([OP.countDown, k('m'), 1]))).toBe(8)
  await w.tick(LIFE - 1)
  w.session = await w.openSession()
  expect(await w.one(once([OP.countDown, k('m'), 1]))).toBe(8)
  await w.tick(2)
  expect(isKept()).toBe(false)
  expect(await w.one(once([OP.countDown, k('m'), 1]))).toBe(7)
})

test('C73: the end of all waits at a latch is also applied only once', async () => {
  await w.one([OP.createLatch, k('m'), 1])
  await w.run([OP.waitLatch, k('m'), 'a', 0], [OP.waitLatch, k('m'), 'b', 0])
  expect(await w.run(once([OP.countDown, k('m'), 1]), once([OP.countDown, k('m'), 1]))).toEqual([0, 0])
  expect(w.ended).toBe(2)
  await w.run([OP.removeLatch, k('m')], [OP.createLatch, k('m'), 2])
  expect(await w.one(once([OP.countDown, k('m'), 1]))).toBe(0)
  expect(latches()).toEqual([['m', 2, 0]])
})

test('C73: another request under the same key is refused and changes nothing', async () => {
  await w.one([OP.createLatch, k('m'), 5])
  await w.one(once([OP.countDown, k('m'), 1]))
  expect(codeOf(await w.one(once([OP.countDown, k('m'), 2], 'once', 'other')))).toBe('ERR_MISMATCH')
  const txn: Command = [OP.txn, null, [], [[0, k('x'), k('1')]], [], [k('once'), k('digest'), LIFE]]
  expect(codeOf(await w.one(txn))).toBe('ERR_MISMATCH')
  await w.one([OP.put, null, k('user'), k('a value that is no kept answer')])
  expect(codeOf(await w.one(once([OP.countDown, k('m'), 1], 'user')))).toBe('ERR_MISMATCH')
  expect(latches()).toEqual([['m', 4, 0]])
  // A key of a txn is refused for another command, too.
  await w.one([OP.txn, null, [], [[0, k('x'), k('1')]], [], [k('of-txn'), k('digest'), LIFE]])
  expect(codeOf(await w.one(once([OP.countDown, k('m'), 1], 'of-txn')))).toBe('ERR_MISMATCH')
})

test('a value of an application is never an answer, so a caller without the right to read sees nothing of it', async () => {
  const command: InnerCommand = [OP.countDown, k('m'), 1]
  for (const value of [k('secret'), 'secret', [k('secret')], { secret: 1 }, 1.5, -1, null]) {
    await w.one([OP.put, null, k('once'), pack([k('digest'), value])])
    expect(codeOf(await w.one(once(command)))).toBe('ERR_MISMATCH')
  }
  await w.one([OP.put, null, k('once'), pack([k('digest'), 2])])
  expect(await w.one(once(command))).toBe(2)
})

test('a command that fails keeps no answer', async () => {
  expect(await w.one(once([OP.countDown, k('m'), 1]))).toBeNull()
  expect(isKept()).toBe(false)
  await w.one([OP.createLatch, k('m'), 2])
  expect(await w.one(once([OP.countDown, k('m'), 1]))).toBe(1)

  const rotate = once([OP.rotate, k('l'), 'me', 0], 'rotation')
  expect(((await w.one(rotate)) as unknown[])[3]).toBe(0)
  await w.one(acquire('me'))
  expect(((await w.one(rotate)) as unknown[])[3]).toBe(2)

  const guarded = once([OP.nextSequence, [k('g'), 3], k('s'), 4], 'guarded')
  expect(codeOf(await w.one(guarded))).toBe('ERR_FENCED')
  await w.one(acquire('me', k('g')))
  expect(await w.one(guarded)).toEqual([0, 4])
  // The guard is not checked again, because the hold may have ended after the first call.
  await w.one([OP.release, k('g'), 'me', 3, true])
  expect(await w.one(guarded)).toEqual([0, 4])
})

test.each([
  ['rotate', k('l'), [OP.rotate, k('l'), 'me', 1]],
  ['downgrade', k('l'), [OP.downgrade, k('l'), 'me', 1]],
  ['proclaim', election, [OP.proclaim, election, 'me', 1, 'first']],
] as const)('C76: a repeated %s answers with the present hold', async (_, key, command) => {
  await w.one(acquire('me', key))
  const first = (await w.one(once(command))) as number[]
  expect(first[1]).toBe(w.time + 1_000)
  // Half of the lease passes, and the owner changes its hold again.
  await w.tick(500)
  const later = (await w.one([OP.proclaim, key, 'me', 0, 'second'])) as number[]
  const again = (await w.one(once(command))) as number[]
  expect([again[1], again[3], again[5], again[7]]).toEqual([later[1], first[3], 'second', w.time])
  // The lease has ended, so the answer does not say that the caller still has the lock.
  await w.tick(501)
  expect(((await w.one(once(command))) as number[])[3]).toBe(0)
  // The kept answer has no context, which only readers of the lock may see.
  expect(show(w.machine.read([READ.get, k('once')]))).not.toContain('first')
})
