// Test: committed entries reach the state machine in order, however long the state machine takes.

import { EMPTY } from '@latchkey/base'
import { expect, test } from 'vitest'
import { encodeMembership, NO_MEMBERS } from '../core/membership.js'
import type { Entry, EntryKind, Membership } from '../core/types.js'
import { Applier } from './applier.js'
import type { Applied, StateMachine } from './state-machine-interface.js'

const members = (...voters: string[]): Membership => ({
  ...NO_MEMBERS,
  voters,
  peers: Object.fromEntries(voters.map((id) => [id, { url: `ws://${id}`, incarnation: `of ${id}` }])),
})

const FIRST = members('a')
const stateAt = (index: number) => ({ position: { index, term: 1, time: index * 10 }, membership: FIRST })

interface Call {
  readonly indices: readonly number[]
  readonly voters: readonly (readonly string[])[]
  readonly end: () => Promise<void>
  readonly fail: (error: Error) => Promise<void>
}

/**
 * An applier over a log with entries of the test's choice. Its machine completes a call when the test says
 * so, or at once with `now`.
 */
function scene(options: { now?: boolean; data?: Uint8Array } = {}) {
  const kinds = new Map<number, [EntryKind, Uint8Array]>()
  const calls: Call[] = []
  const applied: number[][] = []
  const failures: string[] = []
  const entry = (index: number): Entry => {
    const [kind, data] = kinds.get(index) ?? ['commands', options.data ?? EMPTY]
    return { index, term: 1, time: index * 10, kind, data }
  }
  const apply = (
    entries: readonly Entry[],
    membershipAt: (index: number) => Membership,
  ): readonly Applied[] | Promise<readonly Applied[]> => {
    const results = entries.map(({ index }) => ({ index, answers: [] }))
    let settle: { resolve: () => void; reject: (error: Error) => void } | undefined
    const later = new Promise<readonly Applied[]>((resolve, reject) => {
      settle = { resolve: () => resolve(results), reject }
    })
    calls.push({
      indices: entries.map(({ index }) => index),
      voters: entries.map(({ index }) => membershipAt(index).voters),
      end: async () => {
        settle?.resolve()
        await settled()
      },
      fail: async (error) => {
        settle?.reject(error)
        await settled()
      },
    })
    return options.now ? results : later
  }
  const applier: Applier = new Applier(
    {
      machine: { apply } as StateMachine,
      entry,
      applied: (entries) => void applied.push(entries.map(({ index }) => index)),
      failed: (error) => void failures.push(error instanceof Error ? error.message : String(error)),
    },
    stateAt(0),
  )
  const commit = (index: number) => {
    applier.committed(index)
    applier.pump()
  }
  return { applier, kinds, calls, applied, failures, commit }
}

const settled = () => new Promise<void>((resolve) => void setImmediate(resolve))

// Without this law: a snapshot replaces the state of a machine that is still applying. The rest of that call
// is written into the new state.
test('S3: pause calls back once no call is under way, and nothing is applied until resume', async () => {
  const { applier, calls, applied, commit } = scene()
  commit(2)
  let called = 0
  applier.pause(() => called++)
  expect([called, applier.busy]).toEqual([0, true])
  commit(4)
  expect(calls).toHaveLength(1)
  await calls[0]?.end()
  expect([called, applied, calls.length, applier.busy]).toEqual([1, [[1, 2]], 1, false])
  commit(5)
  expect([calls.length, applier.behind]).toEqual([1, true])
  applier.resume()
  expect(calls[1]?.indices).toEqual([3, 4, 5])
  await calls[1]?.end()
  expect([applied.flat(), called, applier.behind]).toEqual([[1, 2, 3, 4, 5], 1, false])
  applier.pause(() => called++)
  expect(called).toBe(2)
})

test('S3: results from before an installed snapshot are dropped; entries after it are applied', async () => {
  const { applier, calls, applied, failures, commit } = scene()
  commit(3)
  applier.restart(stateAt(10))
  expect([applier.position.index, applier.busy, applier.behind]).toEqual([10, false, false])
  await calls[0]?.end()
  expect([applied, failures, applier.position.index]).toEqual([[], [], 10])
  applier.committed(7)
  commit(12)
  expect(calls[1]?.indices).toEqual([11, 12])
  await calls[1]?.end()
  expect(applied).toEqual([[11, 12]])
})

test('S3: a snapshot that comes in during a pause ends the pause', () => {
  const { applier, calls, commit } = scene({ now: true })
  applier.pause(() => {})
  applier.restart(stateAt(4))
  commit(5)
  expect(calls.map(({ indices }) => indices)).toEqual([[5]])
})

test('one call at a time: what is committed meanwhile waits, and each entry is applied once and in order', async () => {
  const { calls, applied, commit, applier } = scene()
  commit(1)
  commit(2)
  commit(3)
  expect(calls).toHaveLength(1)
  await calls[0]?.end()
  commit(2)
  expect(calls[1]?.indices).toEqual([2, 3])
  await calls[1]?.end()
  applier.pump()
  expect([applied, calls.length]).toEqual([[[1], [2, 3]], 2])
  expect(applier.state).toEqual({ position: { index: 3, term: 1, time: 30 }, membership: FIRST })
})

test('L21: one call takes 256 entries or 4 MiB, and its owner comes again for the rest', () => {
  const many = scene({ now: true })
  many.commit(600)
  for (let i = 0; i < 5; i++) many.applier.pump()
  expect(many.calls.map(({ indices }) => indices.length)).toEqual([256, 256, 88])
  const large = scene({ now: true, data: new Uint8Array(1024 * 1024) })
  large.commit(9)
  for (let i = 0; i < 5; i++) large.applier.pump()
  expect(large.calls.map(({ indices }) => indices)).toEqual([[1, 2, 3, 4], [5, 6, 7, 8], [9]])
})

test('within one call there is one membership before its last entry: a change of members ends a call', () => {
  const { applier, kinds, calls, commit } = scene({ now: true })
  kinds.set(2, ['members', encodeMembership(members('a', 'b'))])
  commit(4)
  applier.pump()
  expect(calls.map(({ indices, voters }) => [indices, voters])).toEqual([
    [
      [1, 2],
      [['a'], ['a', 'b']],
    ],
    [
      [3, 4],
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
    ],
  ])
  expect(applier.state.membership.voters).toEqual(['a', 'b'])
})

test('A4: a failed call is reported once, nothing is applied after it, and waiting callbacks are called', async () => {
  const { applier, kinds, calls, applied, failures, commit } = scene()
  commit(2)
  let called = 0
  applier.whenIdle(() => called++)
  applier.pause(() => called++)
  await calls[0]?.fail(new Error('rotten'))
  expect([failures, applied, called, applier.busy]).toEqual([['rotten'], [], 2, false])
  applier.resume()
  commit(4)
  expect([calls.length, failures.length, applier.position.index]).toEqual([1, 1, 0])
  const other = scene()
  other.kinds.set(1, ['members', Uint8Array.of(1)])
  other.commit(1)
  expect([other.failures, other.calls]).toEqual([[expect.stringContaining('entry 1 cannot be read')], []])
  expect(kinds.size).toBe(0)
})

test('a stopped applier applies nothing more, and drops the result of the call under way', async () => {
  const { applier, calls, applied, failures, commit } = scene()
  commit(1)
  applier.stop()
  let called = 0
  applier.whenIdle(() => called++)
  commit(3)
  await calls[0]?.end()
  expect([applied, failures, called, calls.length]).toEqual([[], [], 1, 1])
  const failing = scene()
  failing.commit(1)
  failing.applier.stop()
  await failing.calls[0]?.fail(new Error('too late'))
  expect(failing.failures).toEqual([])
})
