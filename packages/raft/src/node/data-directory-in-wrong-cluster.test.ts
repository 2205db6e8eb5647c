// Test: if the options of a member name members that its log does not know, the member asks them for their
// cluster, and serves no client meanwhile.

import type { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { NO_MEMBERS } from '../core/membership.js'
import type { Membership } from '../core/types.js'
import { ManualClock } from '../memory/index.js'
import { noteInMemory, OneCluster, type OneClusterPorts } from './data-directory-in-wrong-cluster.js'

const PATIENCE = 1_000

const log = (urls: Readonly<Record<string, string>>): Membership => ({
  ...NO_MEMBERS,
  voters: Object.keys(urls).sort(),
  peers: Object.fromEntries(Object.entries(urls).map(([id, url]) => [id, { url, incarnation: `of ${id}` }])),
})

const OURS = { a: 'ws://a', b: 'ws://b', c: 'ws://c' }
const GIVEN = { a: 'ws://a', b: 'ws://b2', c: 'ws://c' }

/** Member a of cluster x, with these members in its options. */
function scene(
  given: Readonly<Record<string, string>>,
  options: Partial<OneClusterPorts> & { own?: string } = {},
) {
  const clock = new ManualClock()
  const state = { own: options.own ?? 'x', asked: 0 }
  const stops: LatchkeyError[] = []
  const one = new OneCluster({
    id: 'a',
    given,
    note: noteInMemory(),
    expected: undefined,
    clusterId: () => state.own,
    clock,
    patience: PATIENCE,
    asked: () => void state.asked++,
    stop: (error) => void stops.push(error),
    ...options,
  })
  const answer = (id: string, url: string, clusterId: string) =>
    one.answered(id, url, { id, incarnation: `of ${id}`, boot: 1, clusterId, group: 0, level: 1, version: 1 })
  return { clock, state, stops, one, answer }
}

test('M22: a member that knows all given members asks none, and none stops it', () => {
  const lists: Record<string, string>[] = [OURS, {}, { a: 'ws://elsewhere' }, { a: 'ws://a', b: '' }]
  for (const given of lists) {
    const { one, state, stops, clock, answer } = scene(given)
    expect(one.isAsking).toBe(true)
    one.look(log(OURS))
    expect([one.isAsking, state.asked, clock.armed, one.unknownMembers]).toEqual([false, 1, 0, {}])
    answer('b', 'ws://b', 'y')
    answer('a', 'ws://elsewhere', 'y')
    one.judge()
    expect([stops, state.asked]).toEqual([[], 1])
  }
})

test('M22: the member waits until each unknown member has answered that it is of this cluster', () => {
  const { one, state, stops, clock, answer } = scene(GIVEN)
  one.look(log(OURS))
  expect([one.isAsking, one.unknownMembers, clock.armed]).toEqual([true, { b: 'ws://b2' }, 1])
  // Three answers that do not count: from another address, from a member that was not asked, and without a
  // cluster.
  answer('b', 'ws://b', 'x')
  answer('c', 'ws://c', 'x')
  answer('b', 'ws://b2', '')
  expect([one.isAsking, state.asked]).toEqual([true, 0])
  answer('b', 'ws://b2', 'x')
  expect([one.isAsking, state.asked, clock.armed]).toEqual([false, 1, 0])
  clock.advance(PATIENCE * 2)
  expect([state.asked, stops]).toEqual([1, []])
})

test('M22: an unknown member of another cluster stops this member, whose error names both clusters; an incoming connection does not', () => {
  const { one, stops, state, answer } = scene({ ...GIVEN, d: 'ws://d' })
  one.look(log(OURS))
  answer('b', 'ws://b', 'y')
  answer('c', 'ws://c', 'y')
  expect(stops).toEqual([])
  answer('d', 'ws://d', 'x')
  answer('b', 'ws://b2', 'y')
  expect(stops).toHaveLength(1)
  expect(stops[0]).toMatchObject({ code: 'ERR_WRONG_CLUSTER', clusters: { x: ['ws://a'], y: ['ws://b2'] } })
  expect(stops[0]?.message).toContain('b at ws://b2 is of cluster y')
  expect(state.asked).toBe(0)
})

test('M22: a silent unknown member is waited for up to the limit; a later answer counts all the same', () => {
  const { one, state, stops, clock, answer } = scene(GIVEN)
  one.look(log(OURS))
  clock.advance(PATIENCE - 100)
  // The log's members change meanwhile: no new wait begins.
  one.look(log({ ...OURS, d: 'ws://d' }))
  expect([one.isAsking, clock.armed]).toEqual([true, 1])
  clock.advance(100)
  expect([one.isAsking, state.asked, clock.armed]).toEqual([false, 1, 0])
  one.look(log(OURS))
  expect([one.isAsking, state.asked, clock.armed]).toEqual([false, 1, 0])
  answer('b', 'ws://b2', 'y')
  expect(stops).toHaveLength(1)
})

test('after close no timer is left', () => {
  const { one, state, clock } = scene(GIVEN)
  one.look(log(OURS))
  one.look(log(OURS))
  one.close()
  expect(clock.armed).toBe(0)
  clock.advance(PATIENCE * 2)
  expect(state.asked).toBe(0)
})

test('M22: an address that a member of this cluster had earlier makes no unknown member', () => {
  const { one, state } = scene({ ...OURS, d: 'ws://d', b: 'ws://b2' })
  one.look(log({ ...OURS, d: 'ws://d' }))
  expect(one.unknownMembers).toEqual({ b: 'ws://b2' })
  // The member has moved, and then moved back.
  one.look(log({ ...OURS, b: 'ws://b2' }))
  expect([one.unknownMembers, one.isAsking, state.asked]).toEqual([{}, false, 1])
  one.look(log(OURS))
  expect(one.unknownMembers).toEqual({})
})

test('M22: an empty directory asks nobody; a cluster that is being founded is compared once it has its id', () => {
  const empty = scene(GIVEN, { own: '' })
  empty.one.look(NO_MEMBERS)
  expect([empty.one.unknownMembers, empty.one.isAsking, empty.state.asked, empty.clock.armed]).toEqual([
    {},
    false,
    1,
    0,
  ])
  const founding = scene(GIVEN, { own: '' })
  founding.one.look(log(OURS))
  founding.answer('b', 'ws://b2', 'y')
  expect([founding.stops, founding.one.isAsking]).toEqual([[], true])
  founding.state.own = 'x'
  founding.one.judge()
  expect(founding.stops).toHaveLength(1)
  const fine = scene(GIVEN, { own: '' })
  fine.one.look(log(OURS))
  fine.answer('b', 'ws://b2', 'x')
  fine.state.own = 'x'
  fine.one.judge()
  expect([fine.stops, fine.state.asked]).toEqual([[], 1])
})

test('M22: a member whose options name a cluster is of that cluster or stops; it founds no other one', () => {
  const right = scene(OURS, { expected: 'x' })
  right.one.look(log(OURS))
  expect([right.stops, right.state.asked]).toEqual([[], 1])
  const wrong = scene(OURS, { expected: 'z' })
  wrong.one.look(log(OURS))
  expect(wrong.stops).toMatchObject([
    { code: 'ERR_WRONG_CLUSTER', message: expect.stringContaining('asks for z') },
  ])
  expect(wrong.state.asked).toBe(0)
  const none = scene(OURS, { expected: 'z', own: '' })
  none.one.look(NO_MEMBERS)
  expect(none.stops).toEqual([])
  none.one.refuseToFound()
  expect(none.stops).toMatchObject([{ message: expect.stringContaining('would found one') }])
})
