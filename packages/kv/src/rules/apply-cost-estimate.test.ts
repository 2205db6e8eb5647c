// Test: the estimated work of a command is never much lower than the real number of rows and bytes.

import { encodeCommand, OP, STEP, type Command } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { k, World } from '../testing/state-machine-with-own-log.js'

const MIB = 1024 * 1024

async function weighed() {
  const world = await World.open()
  await world.run([OP.put, null, k('large'), new Uint8Array(MIB)])
  await world.run([OP.put, null, k('small'), k('v')])
  return (command: Command) => world.machine.weigh(command, encodeCommand(command).length)
}

test('A16: named rows, sent bytes and stored values count; a small command has a low estimate', async () => {
  const weigh = await weighed()
  for (const op of [OP.merge, OP.putIfAbsent, OP.getAndPut] as const) {
    expect(weigh([op, null, k('small'), k('v')])).toBeLessThan(32)
    expect(weigh([op, null, k('large'), k('v')])).toBeGreaterThan(1_000)
  }
  expect(weigh([OP.txn, null, [[0, 0, k('large'), k('v')]], [], []])).toBeGreaterThan(1_000)
  expect(weigh([OP.txn, null, [], [], [[STEP.merge, k('large'), k('v')]]])).toBeGreaterThan(1_000)
  expect(weigh([OP.batch, null, [[STEP.get, k('large')]]])).toBeGreaterThan(1_000)
  expect(weigh([OP.compareAndPutAll, null, [[k('large'), null, null]]])).toBeGreaterThan(1_000)
  expect(weigh([OP.deleteAll, null, [k('large')]])).toBeGreaterThan(1_000)
  const keptAt = [k('large'), k('digest'), 1_000] as const
  expect(weigh([OP.applyOnce, keptAt, [OP.countDown, k('latch'), 1]])).toBeGreaterThan(1_000)
  expect(weigh([OP.applyOnce, [k('kept'), k('digest'), 1], [OP.touch, null, k('large'), 1]])).toBeGreaterThan(
    1_000,
  )
  const many = Array.from({ length: 20_000 }, (_, i) => k(`${i}`))
  expect(weigh([OP.putAll, null, many.map((key) => [key, key] as const)])).toBeGreaterThan(80_000)
  expect(weigh([OP.deleteAll, null, many.slice(0, 65)])).toBe(5_000)
  expect(
    weigh([OP.renew, many.slice(0, 2_048).map((key) => [key, 'id', 1, 1_000] as const)]),
  ).toBeGreaterThan(8_000)
  expect(weigh([OP.nextSequence, null, k('small'), 1])).toBeLessThan(32)
})

test('A16: the estimate reads the same rows as the command, also those that are not written yet', async () => {
  const world = await World.open()
  const merge: Command = [OP.merge, null, k('a'), k('v')]
  const weigh = () => world.machine.weigh(merge, 10)
  expect(weigh()).toBeLessThan(32)
  await world.run([OP.put, null, k('a'), new Uint8Array(MIB / 2)])
  expect(weigh()).toBeGreaterThan(500)
  await world.machine.flush()
  expect(weigh()).toBeGreaterThan(500)
  await world.run([OP.deleteAll, null, [k('a')]])
  expect(weigh()).toBeLessThan(32)
})
