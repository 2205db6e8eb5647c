// Test: a connection of the simulated network keeps the order of messages, holds messages back during a cut,
// and breaks after silence, at each cut again.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { MemoryConnection, type Side, type Unreliable } from './simulated-connection.js'
import { Cuts } from './network-cuts.js'
import { EventHeap } from './event-heap.js'
import { Host } from './simulated-host.js'

const PULSE = [10_000, 20_000] as const
const LONGEST = PULSE[1]
const CLOSING = { within: 500, gap: 10 }

function scene(tail = 0, unreliable?: Unreliable) {
  const events = new EventHeap()
  const timeline = {
    now: 0,
    later: (micros: number, run: () => void) => events.push(timeline.now + micros, run, undefined),
    at: (micros: number, run: () => void) => events.push(Math.max(timeline.now, micros), run, undefined),
  }
  const random = seededRandom('a connection')
  const perfect = { rate: 1, uptime: 0, wallAhead: 0, lateness: () => 0 }
  const got: [unknown[], unknown[]] = [[], []]
  const closed: Side[] = []
  const end = (side: Side) => ({
    process: new Host(timeline, side, `host ${side}`, random, perfect).start(),
    receive: (frame: unknown) => void got[side].push(frame),
    closed: () => void closed.push(side),
  })
  const cuts: Cuts = new Cuts(() => connection.look())
  const options = { base: 100, tail, pulse: PULSE, closing: CLOSING, unreliable }
  const connection: MemoryConnection = new MemoryConnection(timeline, cuts, random, options, [end(0), end(1)])
  const pass = (micros: number) => {
    const until = timeline.now + micros
    for (let at = events.peekTime(); at !== undefined && at <= until; at = events.peekTime()) {
      timeline.now = at
      events.pop()?.run(undefined as never)
    }
    timeline.now = until
  }
  return { cuts, connection, got, closed, pass }
}

test('frames of a lane arrive in their order, however long each one takes', () => {
  const { connection, got, pass } = scene(5_000)
  const frames = Array.from({ length: 100 }, (_, i) => i)
  for (const frame of frames) connection.send(0, frame)
  pass(99)
  expect(got).toEqual([[], []])
  pass(10_000)
  expect(got).toEqual([[], frames])
})

test('a cut holds frames back; when it is mended in time they arrive, and nobody is told', () => {
  const { cuts, connection, got, closed, pass } = scene()
  cuts.cut(0, 1)
  connection.send(0, 'held')
  connection.send(1, 'the other way')
  pass(PULSE[0] - 1)
  expect(got).toEqual([['the other way'], []])
  cuts.mend(0, 1)
  expect(got[1]).toEqual(['held'])
  pass(LONGEST)
  expect(closed).toEqual([])
})

test('a cut that lasts is noticed by both ends, also after one that was mended in time', () => {
  const { cuts, connection, got, closed, pass } = scene()
  cuts.cut(0, 1)
  pass(PULSE[0] - 1)
  cuts.heal()
  pass(LONGEST)
  expect(closed).toEqual([])
  cuts.cut(1, 0)
  connection.send(1, 'lost')
  pass(PULSE[0] - 1)
  expect(closed).toEqual([])
  pass(LONGEST)
  expect([closed.sort(), connection.over]).toEqual([[0, 1], true])
  cuts.heal()
  pass(LONGEST)
  expect(got).toEqual([[], []])
})

test('when one end closes, the other one hears of it at once, and after its silence where nothing tells it', () => {
  for (const [silent, within] of [
    [false, CLOSING.within + CLOSING.gap],
    [true, LONGEST],
  ] as const) {
    const { connection, got, closed, pass } = scene()
    connection.end(0, silent)
    connection.send(1, 'to nobody')
    if (silent) pass(PULSE[0] - 1)
    expect([closed, connection.over]).toEqual([[], false])
    pass(within)
    expect([closed, connection.over]).toEqual([[1], true])
    expect(got).toEqual([[], []])
  }
})

test('a connection that is unreliable on purpose loses, doubles and reorders frames, and a cut loses all', () => {
  let count = 0
  const loses = () => count++ % 4 === 0
  const { cuts, connection, got, pass } = scene(5_000, { loses, duplicate: 0.5, late: 3_000, inOrder: false })
  const frames = Array.from({ length: 100 }, (_, i) => i)
  for (const frame of frames) connection.send(0, frame)
  pass(15_000)
  const [, arrived] = got
  expect([...new Set(arrived as number[])].sort((a, b) => a - b)).toEqual(frames.filter((i) => i % 4 !== 0))
  expect(arrived.length).toBeGreaterThan(90)
  expect(arrived).not.toEqual([...arrived].sort((a, b) => (a as number) - (b as number)))
  cuts.cut(0, 1)
  for (const frame of frames) connection.send(0, frame)
  pass(9_000)
  cuts.mend(0, 1)
  const before = arrived.length
  pass(9_000)
  expect(arrived.length).toBe(before)
})
