// Test: when a member knows that it was removed from its cluster.

import { NO_MEMBERS } from '@latchkey/raft/core'
import type { Membership } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { OwnMembership } from './own-membership.js'

const of = (...voters: string[]): Membership => ({
  ...NO_MEMBERS,
  voters,
  peers: Object.fromEntries(voters.map((id) => [id, { url: `ws://${id}`, incarnation: id }])),
})

function ownMembership() {
  let due: (() => void) | undefined
  const told: boolean[] = []
  const clock = {
    now: () => 0,
    instant: () => ({ hr: 0, up: 0, wall: 0 }),
    after: (_: number, run: () => void) => {
      due = run
      return { cancel: () => (due = undefined) }
    },
  }
  const one = new OwnMembership({ id: 'd', clock, grace: 100, tell: (removed) => told.push(removed) })
  return {
    one,
    told,
    wait: () => {
      const run = due
      due = undefined
      run?.()
    },
    waits: () => due !== undefined,
  }
}

test('M12: removed is who was a member; it is told when what was under way has had its time', () => {
  const { one, told, wait } = ownMembership()
  one.look(of('a', 'd'))
  one.look(of('a'))
  expect([one.isOver, told]).toEqual([false, []])
  wait()
  expect([one.isOver, told]).toEqual([true, [true]])
  one.look(of('a', 'b'))
  wait()
  expect(told).toEqual([true])
})

test('M12: one that joins is not removed while it catches up with what was before it', () => {
  const { one, told, waits } = ownMembership()
  one.look(NO_MEMBERS)
  one.look(of('a', 'b'))
  one.look(of('b', 'c'))
  expect([waits(), one.isOver, told]).toEqual([false, false, []])
})

test('M12: what others say of it holds until somebody leads here, or its own log says otherwise', () => {
  const { one, told, wait } = ownMembership()
  one.look(of('a', 'd'))
  one.led()
  one.reportedByOthers()
  one.reportedByOthers()
  expect([one.isOver, told]).toEqual([true, [true]])
  one.led()
  expect([one.isOver, told]).toEqual([false, [true, false]])
  one.reportedByOthers()
  one.look(of('a', 'b', 'd'))
  expect(told).toEqual([true, false, true, false])
  one.look(of('a'))
  wait()
  one.led()
  expect([one.isOver, told.length]).toEqual([true, 5])
})

test('M12: added again it belongs again, whether its removal was told before or not', () => {
  const { one, told, wait, waits } = ownMembership()
  one.look(of('a', 'd'))
  one.look(of('a'))
  one.look(of('a', 'd'))
  expect([waits(), told]).toEqual([false, []])
  one.look(of('a'))
  wait()
  one.look(of('a', 'd'))
  expect([one.isOver, told]).toEqual([false, [true, false]])
})
