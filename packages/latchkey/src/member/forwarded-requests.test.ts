// Test: the requests that a member sends to another member, and their outcomes.

import { seededRandom } from '@latchkey/base'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { type MemberMessage, decodeMemberMessage } from './non-raft-member-messages.js'
import { Forwarder } from './forwarded-requests.js'

function world(connected = true, seed = 'one life') {
  const sent: MemberMessage[] = []
  const told: unknown[] = []
  const clock = new ManualClock()
  const forwarder = new Forwarder({
    clock,
    random: seededRandom(seed),
    send: (_, frame) => {
      sent.push(decodeMemberMessage(frame) as MemberMessage)
      return connected
    },
  })
  // A link request has an id of its own, which is not the forwarder's.
  const request = { kind: 'command', id: 77, session: 1, number: 2, done: 1, body: new Uint8Array([1]) }
  forwarder.command('b', request, (outcome) => told.push(outcome))
  return { forwarder, sent, told, clock }
}

test('an answer reaches its asker, once, under the forwarder’s own number', () => {
  const { forwarder, sent, told } = world()
  const id = (sent[0] as { id: number }).id
  expect(sent[0]).toMatchObject({ kind: 'command', session: 1, number: 2, done: 1 })
  forwarder.answered('b', { kind: 'applied', id, time: 5, bytes: new Uint8Array([9]) })
  forwarder.answered('b', { kind: 'unknown', id })
  expect(told).toEqual([
    { type: 'applied', answer: { bytes: new Uint8Array([9]), fromTable: false }, time: 5 },
  ])
  expect(id).not.toBe(77)
})

const NINE = new Uint8Array([9])

test.each<[MemberMessage['kind'], object, object]>([
  [
    'applied',
    { time: 5, bytes: NINE },
    { type: 'applied', time: 5, answer: { bytes: NINE, fromTable: false } },
  ],
  ['refused', { reason: 'busy' }, { type: 'refused', reason: 'busy' }],
  ['refused', { reason: 'not-leader' }, { type: 'refused', reason: 'not-leader' }],
  ['unknown', {}, { type: 'unknown' }],
  ['returned', { answer: NINE }, { type: 'returned', answer: NINE }],
])('an answer of the kind %s tells its asker %j', (kind, fields, outcome) => {
  const { forwarder, sent, told } = world()
  const { id } = sent[0] as { id: number }
  forwarder.answered('b', { kind, id, ...fields } as MemberMessage)
  expect(told).toEqual([outcome])
  expect(forwarder.pending).toBe(0)
})

test('C5: an answer of another member, or to a number nobody asked under, completes nothing', () => {
  const { forwarder, sent, told } = world()
  const id = (sent[0] as { id: number }).id
  forwarder.answered('c', { kind: 'unknown', id })
  forwarder.answered('b', { kind: 'unknown', id: id + 1 })
  expect(told).toEqual([])
})

test('C5: an answer to what was asked in an earlier life of this member completes nothing in this one', () => {
  const before = world(true, 'life 1')
  const { forwarder, told } = world(true, 'life 2')
  const { id } = before.sent[0] as { id: number }
  forwarder.answered('b', { kind: 'applied', id, time: 5, bytes: new Uint8Array([9]) })
  expect(told).toEqual([])
})

test('CT5: an answer from the reply table proves no leadership on the way through a follower either', () => {
  const { forwarder, sent, told } = world()
  forwarder.answered('b', {
    kind: 'applied',
    id: (sent[0] as { id: number }).id,
    time: 0,
    bytes: new Uint8Array(),
  })
  expect(told).toMatchObject([{ answer: { fromTable: true } }])
})

test('a way that is gone leaves the outcome unknown; one that was not there means never handed on', () => {
  const { forwarder, told } = world()
  forwarder.lost('c')
  expect(told).toEqual([])
  forwarder.lost('b')
  expect(told).toEqual([{ type: 'unknown' }])
  expect(world(false).told).toEqual([{ type: 'refused', reason: 'not-leader' }])
})

test('an answer that never comes over a way that stays up: unknown after a while, and nothing is left', () => {
  const { forwarder, told, clock } = world()
  forwarder.call('b', 'members.add', ['d', 'ws://d'], (outcome) => told.push(outcome))
  clock.advance(9_000)
  expect(told).toEqual([])
  clock.advance(3_000)
  expect(told).toEqual([{ type: 'unknown' }])
  clock.advance(120_000)
  expect(told.length).toBe(2)
  expect(forwarder.pending).toBe(0)
  expect(clock.armed).toBe(0)
})

test('E17: another member leads: a command that went to the one before is unknown at once, a late answer completes nothing', () => {
  const { forwarder, sent, told } = world()
  forwarder.leads('b')
  expect(told).toEqual([])
  forwarder.leads('c')
  expect(told).toEqual([{ type: 'unknown' }])
  forwarder.answered('b', { kind: 'unknown', id: (sent[0] as { id: number }).id })
  expect(told.length).toBe(1)
})
