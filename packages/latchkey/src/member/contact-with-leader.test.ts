// Test: when a member counts as cut off from its leader, and when it forwards requests of other members.

import { expect, test } from 'vitest'
import { LeaderReach } from './contact-with-leader.js'

const TIMEOUT = 1_000

function reach() {
  const view = { leads: false, connected: true, term: 1, clock: 0, heardAt: 0 }
  const one = new LeaderReach(TIMEOUT, () => view)
  /** Lets `ms` pass by ticks; `heard`: the leader says something before each. */
  const pass = (ms: number, heard: boolean) => {
    for (const end = view.clock + ms; view.clock < end; ) {
      view.clock += 50
      if (heard) view.heardAt = view.clock
      one.look()
    }
    return one.isCutOff
  }
  return { one, view, pass }
}

test('M28: silent for three quarters of an election timeout is cut off, sooner is not', () => {
  const { pass } = reach()
  expect(pass(5_000, true)).toBe(false)
  expect(pass(700, false)).toBe(false)
  expect(pass(50, false)).toBe(true)
})

test('M28: it reaches its leader again when it has for half an election timeout, without a gap', () => {
  const { view, pass } = reach()
  expect(pass(1_000, false)).toBe(true)
  for (let i = 0; i < 10; i++) {
    // One message through, now and then.
    view.heardAt = view.clock
    expect(pass(800, false)).toBe(true)
  }
  for (let i = 0; i < 3; i++) {
    // One message that comes late, and then again a gap before half an election timeout is over.
    view.heardAt = view.clock - 400
    expect(pass(100, false)).toBe(true)
    expect(pass(300, false)).toBe(true)
  }
  expect(pass(450, true)).toBe(true)
  expect(pass(150, true)).toBe(false)
})

test('M28: the leader of another term is reached at once, and so is the first one behind a start', () => {
  const { view, pass } = reach()
  view.term = 0
  expect(pass(1_000, false)).toBe(true)
  view.term = 1
  expect(pass(50, true)).toBe(false)
  expect(pass(1_000, true)).toBe(false)
  expect(pass(1_000, false)).toBe(true)
  view.term = 3
  expect(pass(50, true)).toBe(false)
})

test('M28: one that hears its leader, and cannot send to it, is cut off too', () => {
  const { view, pass } = reach()
  view.connected = false
  expect(pass(750, true)).toBe(true)
  view.connected = true
  expect(pass(600, true)).toBe(false)
})

test('M28: a leader is not cut off, and one that becomes leader is not from that moment', () => {
  const { view, pass } = reach()
  expect(pass(1_000, false)).toBe(true)
  view.leads = true
  expect(pass(50, false)).toBe(false)
  expect(pass(10_000, false)).toBe(false)
  // Who has led a moment ago has not been cut off since it followed somebody last.
  view.leads = false
  expect(pass(700, false)).toBe(false)
})

test('M28: only who has heard from its leader within half an election timeout hands on: a stopped leader is heard by none of them', () => {
  const { one, view, pass } = reach()
  pass(1_000, true)
  expect(one.isFresh).toBe(true)
  pass(500, false)
  expect(one.isFresh).toBe(true)
  pass(50, false)
  expect([one.isFresh, one.isCutOff]).toEqual([false, false])
  view.heardAt = view.clock
  expect(one.isFresh).toBe(true)
  view.connected = false
  expect(one.isFresh).toBe(false)
  view.leads = true
  expect(one.isFresh).toBe(true)
})
