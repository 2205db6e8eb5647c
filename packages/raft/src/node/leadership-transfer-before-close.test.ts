// Test: how the transfer of the leadership ends: moved, stayed or unknown, on a manual clock.

import { Emitter } from '@latchkey/base'
import { expect, test } from 'vitest'
import { ManualClock } from '../memory/index.js'
import { handOver } from './leadership-transfer-before-close.js'
import type { RaftNode } from './node.js'

function leading(more: object = {}) {
  const clock = new ManualClock()
  const events = new Emitter<{ role: { role: string; leader: string | undefined } }>(['role'])
  const asked: (string | undefined)[] = []
  const node = {
    role: 'leader',
    failure: undefined as Error | undefined,
    options: { id: 'a' },
    raft: {
      leader: 'a',
      membership: { voters: ['a', 'b', 'c'] },
      transferring: false,
      targetAsked: false,
    },
    on: events.on.bind(events),
    /** Replaced where the core refuses a transfer. */
    transfer: (to: string | undefined) => {
      asked.push(to)
      node.raft.transferring = true
    },
    ...more,
  }
  const changed = (role: string, leader: string | undefined) => {
    node.role = role
    events.emit('role', { role, leader })
  }
  const run = (to?: string, reachable: (id: string) => boolean = () => true) => {
    let outcome: string | undefined
    void handOver(node as unknown as RaftNode, clock, 1_000, reachable, to).then((one) => (outcome = one))
    return async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return outcome
    }
  }
  return { clock, node, asked, changed, run }
}

test.each([
  [undefined, 'b', 'moved'],
  ['b', 'b', 'moved'],
  ['b', 'c', 'unknown'],
])('to %j: %s leads afterwards, and that is %s', async (to, leader, expected) => {
  const { clock, asked, changed, run } = leading()
  const outcome = run(to)
  expect([asked, await outcome()]).toEqual([[to], undefined])
  changed('follower', undefined)
  expect(await outcome()).toBeUndefined()
  changed('follower', leader)
  expect([await outcome(), clock.armed]).toEqual([expected, 0])
})

test('a member that does not lead, or has failed, transfers nothing', async () => {
  for (const [more, to, expected] of [
    [{ role: 'follower', raft: { leader: 'b' } }, undefined, 'moved'],
    [{ role: 'follower', raft: { leader: 'b' } }, 'b', 'moved'],
    [{ role: 'follower', raft: { leader: 'b' } }, 'c', 'unknown'],
    [{ failure: new Error('disk') }, undefined, 'stayed'],
  ] as const) {
    const { asked, clock, run } = leading(more)
    expect([await run(to)(), asked, clock.armed]).toEqual([expected, [], 0])
  }
})

test('without a target that can be reached it stays at once', async () => {
  const { asked, run, clock } = leading()
  expect(await run(undefined, () => false)()).toBe('stayed')
  expect(await run('a')()).toBe('stayed')
  expect(await run('d')()).toBe('stayed')
  expect(await run('b', (id) => id === 'c')()).toBe('stayed')
  expect([asked, clock.armed]).toEqual([[], 0])
})

test('after a target that gave nothing, others are tried, but only one that the caller named', async () => {
  const any = leading()
  const outcome = any.run()
  any.node.raft.transferring = false
  any.clock.advance(9)
  expect(any.asked).toHaveLength(1)
  any.clock.advance(1)
  expect([any.asked.length, await outcome()]).toEqual([2, undefined])
  const named = leading()
  const ended = named.run('b')
  named.clock.advance(50)
  expect(named.asked).toEqual(['b'])
  named.node.raft.transferring = false
  named.clock.advance(10)
  expect([named.asked, await ended(), named.clock.armed]).toEqual([['b'], 'stayed', 0])
})

test('the time is over: stayed, unless a target was asked to campaign', async () => {
  for (const [targetAsked, expected] of [
    [false, 'stayed'],
    [true, 'unknown'],
  ] as const) {
    const { clock, node, run } = leading()
    const outcome = run()
    node.raft.targetAsked = targetAsked
    clock.advance(999)
    expect(await outcome()).toBeUndefined()
    clock.advance(1)
    expect([await outcome(), clock.armed]).toEqual([expected, 0])
  }
})

test('a member that fails meanwhile gives up at the next look', async () => {
  const { clock, node, run } = leading()
  const outcome = run()
  node.failure = new Error('disk')
  clock.advance(10)
  expect([await outcome(), clock.armed]).toEqual(['stayed', 0])
})
