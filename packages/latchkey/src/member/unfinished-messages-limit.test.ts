// Test: all incomplete messages together have one limit, and each of them must make progress.

import { type Clock, RefusalLog, silentLogger } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { MOST, UnfinishedMessagesLimit, WINDOW_MS } from './unfinished-messages-limit.js'

const MiB = 1024 * 1024
const LARGEST = CAPS.maxPayload

function scene() {
  let now = 0
  const timers: { due: number; run: () => void }[] = []
  const after: Clock['after'] = (ms, run) => {
    const timer = { due: now + ms, run }
    timers.push(timer)
    return { cancel: () => void timers.splice(timers.indexOf(timer), 1) }
  }
  const clock = { now: () => now, after } as Clock
  const refusals = new RefusalLog({ clock, logger: silentLogger })
  const unfinished = new UnfinishedMessagesLimit({ clock, refusals })
  const told: string[] = []
  const sender = (name: string) => ({
    end: (why: string) => void told.push(`${name} ${why}`),
    destroy: () => void told.push(`${name} destroyed`),
  })
  /** Second by second, as timers fire. */
  const pass = (seconds: number, each: () => void = () => {}) => {
    for (let i = 0; i < seconds; i++) {
      now += 1000
      each()
      for (const timer of timers.filter(({ due }) => due <= now)) {
        timers.splice(timers.indexOf(timer), 1)
        timer.run()
      }
    }
  }
  const jump = (ms: number) => (now += ms)
  return { unfinished, told, sender, pass, jump, refusals, timers }
}

test('C45: beyond the bound the one gives way of which nothing was heard for longest, and never a small one', () => {
  const { unfinished, told, sender, refusals } = scene()
  unfinished.received(sender('small'), 1000)
  const large = Array.from({ length: 4 }, (_, i) => sender(`large ${i}`))
  for (const one of large) unfinished.received(one, 15 * MiB)
  expect([unfinished.bytes, told]).toEqual([60 * MiB + 1000, []])
  // The first one is heard of again.
  unfinished.received(large[0] as (typeof large)[0], 15 * MiB + 1)
  unfinished.received(sender('fifth'), 5 * MiB)
  expect(told).toEqual(['large 1 busy'])
  expect(refusals.counts()).toEqual([{ door: 'clients', reason: 'unfinished-busy', count: 1 }])
})

test('C45: with those that were told goodbye there is never more than one largest message beyond the bound', () => {
  const { unfinished, told, sender } = scene()
  for (let i = 0; i < 100; i++) {
    unfinished.received(sender(`${i}`), 15 * MiB)
    expect(unfinished.bytes).toBeLessThanOrEqual(MOST + LARGEST)
  }
  expect(told.slice(0, 3)).toEqual(['0 busy', '1 busy', '0 destroyed'])
})

test('C45: what is told goodbye and goes on counts, and is destroyed where it is too much', () => {
  const { unfinished, told, sender } = scene()
  const senders = Array.from({ length: 5 }, (_, i) => sender(`${i}`))
  for (const one of senders) unfinished.received(one, 15 * MiB)
  for (let more = 1; more <= 6; more++)
    unfinished.received(senders[0] as (typeof senders)[0], (15 + more) * MiB)
  expect(told).toEqual(['0 busy', '0 destroyed'])
  expect(unfinished.bytes).toBe(60 * MiB)
})

test('C45: what stands still is ended after two windows, what brings 64 KiB a second is not', () => {
  const { unfinished, told, sender, pass } = scene()
  const [stuck, slow] = [sender('stuck'), sender('slow')]
  unfinished.received(stuck, 15 * MiB)
  let bytes = 0
  const go = () => unfinished.received(slow, (bytes += 64 * 1024))
  go()
  pass(9, go)
  expect(told).toEqual([])
  pass(2, go)
  expect(told).toEqual(['stuck slow'])
  pass(240, go)
  expect(told).toEqual(['stuck slow'])
  pass((3 * WINDOW_MS) / 1000)
  expect(told).toEqual(['stuck slow', 'slow slow'])
})

test('C45: a new message has its own time, and nothing is watched where nothing is unfinished', () => {
  const { unfinished, told, sender, pass, timers } = scene()
  const one = sender('one')
  for (let i = 0; i < 10; i++) {
    unfinished.received(one, 500)
    pass(4)
    // The next one has begun with the end of this one.
    unfinished.received(one, 100)
    pass(4)
    unfinished.received(one, 0)
  }
  expect([told, unfinished.bytes, timers]).toEqual([[], 0, []])
})

test('C45: a member that stood still itself ends nobody for that', () => {
  const { unfinished, told, sender, pass, jump } = scene()
  unfinished.received(sender('one'), 500)
  pass(6)
  jump(60_000)
  pass(1)
  expect(told).toEqual([])
})
