// Test: what a leader knows about each other member.

import { expect, test } from 'vitest'
import { Progress, Window } from './progress.js'

test('L18: the window holds no more than its size, and one acknowledgement frees all before it', () => {
  const window = new Window(3)
  window.add(5)
  window.add(9)
  window.add(12)
  expect(window.full).toBe(true)
  expect(() => window.add(13)).toThrow('full')
  window.freeTo(4)
  expect(window.count).toBe(3)
  window.freeTo(9)
  window.add(15)
  window.add(16)
  expect(window.full).toBe(true)
  window.freeTo(15)
  expect(window.count).toBe(1)
  window.clear()
  expect(window.count).toBe(0)
})

test('L9: match never moves back, and next stays behind it', () => {
  const peer = new Progress('b', 8, 0, 2)
  expect(peer.acknowledge(5, 1)).toBe(true)
  expect(peer.acknowledge(4, 2)).toBe(false)
  peer.toProbe(3)
  expect([peer.match, peer.next]).toEqual([5, 6])
  expect(peer.acknowledge(9, 3)).toBe(true)
  expect(peer.next).toBe(10)
})

test('each change of state leaves no append under way', () => {
  const peer = new Progress('b', 8, 0, 2)
  peer.toReplicate()
  peer.window.add(1)
  peer.toSnapshot(0)
  expect([peer.window.count, peer.state, peer.snapshot?.phase]).toEqual([0, 'snapshot', 'waiting'])
  peer.probing = true
  peer.toRefused()
  expect([peer.state, peer.probing]).toEqual(['refused', false])
})
