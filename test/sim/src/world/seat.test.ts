// Test: one member's process under pauses and stalls: messages keep their order, and each its own clock
// reading.

import { seededRandom } from '@latchkey/base'
import type { Message } from '@latchkey/raft/core'
import { expect, test } from 'vitest'
import type { Watcher } from '../laws/law.js'
import type { Birth, Host, SimMember } from '../member/port.js'
import { VirtualClock } from '@latchkey/raft/memory'
import { SimDisk } from './disk.js'
import { EventHeap } from '@latchkey/raft/memory'
import { ClientConnection } from './seat.js'

/** A process that writes down what reaches it, when, and with which reading. */
function setup() {
  const heap = new EventHeap()
  const time = { now: 0 }
  const got: string[] = []
  const random = seededRandom('seat')
  const after = (micros: number, run: () => void) =>
    heap.push(time.now + micros, (go: () => void) => go(), run)
  const ports = {
    heap,
    random,
    watch: {} as Watcher,
    tickEvery: 1e12,
    counts: { crashPoints: 0, stalls: 0 },
    now: () => time.now,
    alignedTicks: () => true,
    after,
    crash: () => {},
    send: () => {},
    answer: () => {},
    note: () => {},
  }
  const boot = (host: Host) =>
    ({
      message: ({ term }: Message, now: number) =>
        got.push(`${term} at ${time.now / 1000} reading ${now}, law's ${host.readingAt() / 1000}`),
      tick: () => {},
    }) as unknown as SimMember
  const disk = new SimDisk(heap, () => time.now, random, { syncBase: 1, syncTail: 0, longest: 1e9 })
  const parts = { clock: new VirtualClock(1, 0, 0), disk, boot, birth: {} as Birth }
  const seat = new ClientConnection(ports, 'a', 0, parts)
  seat.start()
  const at = (millis: number, run: () => void) => heap.push(millis * 1000, (go: () => void) => go(), run)
  const message = (term: number) => seat.arrive({ type: 'message', message: { term } as Message })
  const run = (until: number) => {
    while ((heap.peekTime() ?? Number.POSITIVE_INFINITY) <= until * 1000) {
      const next = heap.pop()
      if (next === undefined) return
      time.now = next.at
      next.run(next.payload as never)
    }
  }
  return { seat, got, at, message, run }
}

test('K41: a stall delays the message whose reading was taken; the ones behind it get readings of their own', () => {
  const { seat, got, at, message, run } = setup()
  at(1, () => seat.stallAtNextReading(10_000))
  at(2, () => message(1))
  at(5, () => message(2))
  run(100)
  expect(got).toEqual(["1 at 12 reading 2, law's 2", "2 at 12 reading 12, law's 12"])
})

test('woken in the middle of a stall: the stalled message comes first, once, and not again when the stall would have ended', () => {
  const { seat, got, at, message, run } = setup()
  at(1, () => seat.stallAtNextReading(10_000))
  at(2, () => message(1))
  at(3, () => message(2))
  at(4, () => seat.wake())
  at(20, () => message(3))
  run(100)
  expect(got).toEqual([
    "1 at 4 reading 2, law's 2",
    "2 at 4 reading 4, law's 4",
    "3 at 20 reading 20, law's 20",
  ])
})

test('T7: paused while it stalls: it handles nothing before both are over', () => {
  const { seat, got, at, message, run } = setup()
  at(1, () => seat.stallAtNextReading(10_000))
  at(2, () => message(1))
  at(3, () => seat.pause())
  at(30, () => seat.resume(seat.life))
  run(100)
  expect(got).toEqual(["1 at 30 reading 2, law's 2"])
})

test('a process that died in a stall never handles what it stalled on', () => {
  const { seat, got, at, message, run } = setup()
  at(1, () => seat.stallAtNextReading(10_000))
  at(2, () => message(1))
  at(3, () => {
    seat.end()
    seat.start()
  })
  at(50, () => message(2))
  run(100)
  expect(got).toEqual(["2 at 50 reading 50, law's 50"])
})
