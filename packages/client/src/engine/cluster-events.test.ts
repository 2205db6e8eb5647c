// Test: which events the listeners of a store get when a member's report differs from the one before, and when
// the connection changes.

import { Emitter } from '@latchkey/base'
import type { LeaderReply, MemberTuple, StoreEvents } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { LinkEvents, leaderEvents } from './cluster-events.js'

function recorded() {
  const events = new Emitter<StoreEvents>(['leader', 'role', 'member', 'connected', 'disconnected', 'moved'])
  const seen: unknown[] = []
  for (const name of ['leader', 'role', 'member', 'connected', 'disconnected', 'moved'] as const)
    events.on(name, (event) => seen.push([name, event]))
  return { events, seen, taken: () => seen.splice(0) }
}

const report = (more: Partial<LeaderReply> = {}) =>
  ({ id: 'a', term: 3, role: 'follower', self: 'b', members: [], ...more }) as LeaderReply
const FIRST = [
  ['leader', { id: 'a', term: 3 }],
  ['role', { role: 'follower', term: 3 }],
]

test('a report gives the events of its differences, and the same report gives none', () => {
  const { events, taken } = recorded()
  const after = (before: LeaderReply | undefined, now: LeaderReply) => {
    leaderEvents(before, now, events)
    return taken()
  }
  expect(after(undefined, report({ members: [['a', 'x', 'voter']] as unknown as MemberTuple[] }))).toEqual(
    FIRST,
  )
  expect(after(report(), report())).toEqual([])
  expect(after(report(), report({ id: 'b' }))).toEqual([['leader', { id: 'b', term: 3 }]])
  expect(after(report(), report({ term: 4 }))).toEqual([['leader', { id: 'a', term: 4 }]])
  expect(after(report(), report({ role: 'leader' }))).toEqual([['role', { role: 'leader', term: 3 }]])
  expect(after(report(), report({ self: 'c' }))).toEqual([['role', { role: 'follower', term: 3 }]])
})

test('members that were added, promoted, updated and removed', () => {
  const { events, taken } = recorded()
  const members = (...all: string[][]) => report({ members: all as unknown as MemberTuple[] })
  const before = members(['a', 'x', 'voter'], ['b', 'y', 'learner'], ['c', 'z', 'voter'], ['d', 'w', 'voter'])
  const now = members(['a', 'x', 'voter'], ['b', 'y2', 'voter'], ['c', 'z2', 'voter'], ['e', 'v', 'learner'])
  leaderEvents(before, now, events)
  expect(taken()).toEqual([
    ['member', { id: 'b', change: 'promoted' }],
    ['member', { id: 'c', change: 'updated' }],
    ['member', { id: 'e', change: 'added' }],
    ['member', { id: 'd', change: 'removed' }],
  ])
})

test('connected, moved and disconnected come once for each change of the connection', () => {
  const { events, taken } = recorded()
  const link = new LinkEvents(events)
  const error = new Error('cut')
  link.lost('x', error)
  link.active(undefined)
  expect(taken()).toEqual([])
  link.active('x')
  link.active('x')
  link.active('y')
  link.lost('x', error)
  link.lost(undefined, error)
  expect(taken()).toEqual([
    ['connected', { url: 'x' }],
    ['moved', { from: 'x', to: 'y' }],
  ])
  link.lost('y', error)
  link.lost('y', error)
  link.active('y')
  expect(taken()).toEqual([
    ['disconnected', { url: 'y', error }],
    ['connected', { url: 'y' }],
  ])
})
