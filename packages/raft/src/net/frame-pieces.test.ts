// Test: pauses between attempts to connect, pings that find silent members, log lines, and options of TLS.

import { type Logger, RefusalLog, seededRandom, silentLogger } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../memory/manual-clock.js'
import { Backoff } from './backoff.js'
import { PeerLiveness } from './peer-liveness.js'
import { RefusedHandshakesLog } from './refused-handshakes-log.js'
import type { RefusedEvent } from './transport-interface.js'

describe('pauses', () => {
  test('the first attempt is made at once, then they double up to the limit, shortened by chance', () => {
    const backoff = new Backoff({ least: 20, most: 1000 }, seededRandom('pauses'))
    expect(backoff.next()).toBe(0)
    for (const most of [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]) {
      const pause = backoff.next()
      expect(pause).toBeLessThanOrEqual(most)
      expect(pause).toBeGreaterThanOrEqual(most / 2)
    }
    for (let i = 0; i < 5000; i++) expect(backoff.next()).toBeLessThanOrEqual(1000)
    backoff.reset()
    expect(backoff.next()).toBe(0)
  })
})

describe('C8: signs of life', () => {
  const scene = (missed: number) => {
    const clock = new ManualClock()
    const state = { received: 0, waiting: 0, pings: 0, silent: 0 }
    const deferred: (() => void)[] = []
    const liveness = new PeerLiveness(
      {
        clock,
        defer: (run) => void deferred.push(run),
        received: () => state.received,
        waiting: () => state.waiting,
        ping: () => void state.pings++,
        silent: () => void state.silent++,
      },
      100,
      missed,
    )
    const settle = () => {
      for (let run = deferred.shift(); run; run = deferred.shift()) run()
    }
    const beat = () => {
      clock.advance(100)
      settle()
    }
    return { clock, state, liveness, beat, settle }
  }

  test('the peer is gone after that many silent intervals', () => {
    const { state, beat, clock } = scene(3)
    for (let i = 0; i < 3; i++) beat()
    expect(state.silent).toBe(0)
    beat()
    expect(state.silent).toBe(1)
    expect(state.pings).toBe(3)
    expect(clock.armed).toBe(0)
  })

  test('a byte received, or taken by the system, is a sign of life', () => {
    const { state, beat } = scene(3)
    state.waiting = 1_000_000
    for (let i = 0; i < 50; i++) {
      if (i % 2 === 0) state.received += 2
      beat()
    }
    for (let i = 0; i < 50; i++) {
      state.waiting -= 100
      beat()
    }
    expect(state.silent).toBe(0)
  })

  test('a stall of this process is one beat, and what arrived meanwhile is read first', () => {
    const { state, clock, settle } = scene(3)
    clock.advance(100)
    settle()
    // The process was paused for an hour. Timers then fire before sockets are read, but the peer is judged
    // after both.
    clock.advance(3_600_000)
    state.received += 2
    settle()
    expect(state.silent).toBe(0)
  })

  test('a stopped PeerLiveness does nothing more', () => {
    const { state, liveness, beat } = scene(1)
    liveness.stop()
    for (let i = 0; i < 5; i++) beat()
    expect(state).toMatchObject({ pings: 0, silent: 0 })
  })
})

describe('what is logged', () => {
  const info = { id: 'b', incarnation: '', boot: 1, clusterId: '', group: 0, level: 1, version: 1 }
  const refusal: RefusedEvent = { id: 'b', by: 'us', code: 'ERR_WRONG_CLUSTER', reason: 'no', info }
  const scene = () => {
    const lines: string[] = []
    const logger: Logger = {
      ...silentLogger,
      warn: (_message, fields) => void lines.push(String(fields?.['reason'])),
    }
    let now = 0
    const log = new RefusalLog({ clock: { now: () => now }, logger })
    return { lines, refusals: new RefusedHandshakesLog(log), pass: () => (now += 10_000) }
  }

  test('each peer and reason is logged once, and again after the peer was admitted', () => {
    const { lines, refusals, pass } = scene()
    for (let i = 0; i < 3; i++) refusals.note(refusal, '127.0.0.1', 'came')
    for (let i = 0; i < 3; i++) refusals.note({ ...refusal, reason: 'another' }, '127.0.0.1', 'came')
    expect(lines, 'one line in ten seconds').toEqual(['no'])
    pass()
    for (let i = 0; i < 3; i++) refusals.note({ ...refusal, reason: 'another' }, '127.0.0.1', 'came')
    expect(lines).toEqual(['no', 'another'])
    refusals.admitted('b', 'us')
    pass()
    refusals.note(refusal, '127.0.0.1', 'came')
    expect(lines).toEqual(['no', 'another', 'no'])
  })

  test('a stranger cannot fill the log by making up names', () => {
    const { lines, refusals } = scene()
    for (let i = 0; i < 1000; i++) {
      refusals.note(
        { ...refusal, id: `x${i}`, reason: `r${i}`, code: 'ERR_UNAUTHORIZED', info: undefined },
        '127.0.0.1',
        'came',
      )
    }
    expect(lines).toHaveLength(1)
  })

  test('a peer that is admitted and then sends malformed frames is logged once all the same', () => {
    const { lines, refusals } = scene()
    for (let i = 0; i < 10; i++) {
      refusals.admitted('b', 'us')
      refusals.note({ ...refusal, code: 'ERR_PROTOCOL', reason: `version ${i}` }, '127.0.0.1', 'came')
    }
    expect(lines).toHaveLength(1)
  })
})
