// Test: how long other members have been connected or not connected.

import { ManualClock } from '@latchkey/raft/memory'
import type { Transport } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { ConnectionTimes } from './connected-since.js'

test('a connection is as old as it is, also one that broke between two looks; before the first one since the start', () => {
  const clock = new ManualClock()
  const connected = new Set<string>()
  let heard: (event: { readonly id: string }) => void = () => {}
  const transport = {
    connected: (id: string) => connected.has(id),
    on: (_: string, listener: typeof heard) => {
      heard = listener
      return () => {}
    },
  } as unknown as Transport
  const times = new ConnectionTimes(clock, transport)
  const change = (id: string, isUp: boolean) => {
    if (isUp) connected.add(id)
    else connected.delete(id)
    heard({ id })
  }
  clock.advance(1_000)
  expect([times.uptimeMillis, times.millisOf('b', times.uptimeMillis)]).toEqual([1_000, 1_000])
  change('b', true)
  clock.advance(500)
  expect(times.millisOf('b', times.uptimeMillis)).toBe(500)
  change('b', false)
  clock.advance(10)
  change('b', true)
  clock.advance(20)
  expect(times.millisOf('b', times.uptimeMillis)).toBe(20)
  change('b', false)
  clock.advance(30)
  expect(times.millisOf('b', times.uptimeMillis)).toBe(30)
  times.keepOnly(['c'])
  expect([times.millisOf('b', times.uptimeMillis), times.millisOf('c', times.uptimeMillis)]).toEqual([
    1_560, 1_560,
  ])
})

test('a clock that goes on while one status is made does not make a connection older than the member', () => {
  const clock = new ManualClock()
  const transport = { connected: () => false, on: () => () => {} } as unknown as Transport
  const times = new ConnectionTimes(clock, transport)
  clock.advance(100)
  const uptime = times.uptimeMillis
  clock.advance(1)
  expect(times.millisOf('b', uptime)).toBe(100)
})
