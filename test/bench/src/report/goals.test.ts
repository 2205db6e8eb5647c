// Test: each goal is met at its limit and missed beyond it. A goal that was not measured is neither met nor
// missed.

import { expect, test } from 'vitest'
import { judge } from './goals.js'
import type { Fact, LoadRow, Report, Verdict } from './report.js'

type Found = Pick<Report, 'rows' | 'facts'>

const row = (system: string, load: string, callers: number, more: Partial<LoadRow>): LoadRow => ({
  ...{ system, load, callers, perSecond: 0, p50: 0, p99: 0, samples: 20, errors: 0 },
  ...more,
})

const fact = (id: string, value: number): Fact => ({ id, what: id, value, unit: 'ms' })

const verdictOf = (found: Partial<Found>, goal: string, wanted: string): Verdict => {
  const all = judge({ rows: [], facts: [], ...found })
  const [verdict, ...others] = all.filter((one) => one.goal.startsWith(goal) && one.wanted.startsWith(wanted))
  if (verdict === undefined || others.length > 0) throw new Error(`${goal}, ${wanted}: not one verdict`)
  return verdict
}

/** The load, the callers, the peer, and how many times the peer's rate is wanted. */
const RATES = [
  ['lock pairs, 256', 'lock pair', 256, 'etcd', 14],
  ['lock pairs, 256', 'lock pair', 256, 'Redlock', 2],
  ['lock pairs, 256', 'lock pair', 256, 'RheaKV', 10],
  ['lock pairs, 256', 'lock pair', 256, 'Redis', 1],
  ['put of 256 B', 'put 256 B', 256, 'etcd', 10],
  ['put of 256 B', 'put 256 B', 256, 'RheaKV', 3],
  ['linearizable get', 'get', 256, 'etcd', 25],
  ['linearizable get', 'get', 256, 'RheaKV', 5],
  ['contended hand-over, 8 waiters', 'hand-over', 8, 'RheaKV', 30],
  ['contended hand-over, 64 waiters', 'hand-over', 64, 'RheaKV', 30],
] as const

test.each(RATES)('%s: %s of %i callers, beside %s', (goal, load, callers, peer, times) => {
  const beside = (perSecond: number, errors = 0) => {
    const rows = [
      row('Latchkey', load, callers, { perSecond, errors }),
      row(peer, load, callers, { perSecond: 100 }),
    ]
    return verdictOf({ rows }, goal, `${times} x ${peer}`).met
  }
  expect(beside(100 * times)).toBe(true)
  expect(beside(100 * times - 1)).toBe(false)
  expect(beside(100 * times, 1)).toBe(false)
})

const TIMES = [
  ['lock pair, 1 caller', 'lock pair', 'etcd', 0.5],
  ['lock pair, 1 caller', 'lock pair', 'ZooKeeper', 1],
  ['lock pair, 10 a second, fresh', 'lock pair, 10 a second, fresh members', 'etcd', 0.5],
  ['lock pair, 10 a second, fresh', 'lock pair, 10 a second, fresh members', 'Redlock', 1.5],
  ['lock pair, 10 a second, old', 'lock pair, 10 a second, old members', 'etcd', 0.5],
] as const

test.each(TIMES)('%s: the p50 of %s beside that of %s', (goal, load, peer, part) => {
  const beside = (p50: number) => {
    const rows = [row('Latchkey', load, 1, { p50 }), row(peer, load, 1, { p50: 10 })]
    return verdictOf({ rows }, goal, `at most ${part} x ${peer}`).met
  }
  expect(beside(10 * part)).toBe(true)
  expect(beside(10 * part + 0.1)).toBe(false)
})

test.each([8, 64])(
  'a hand-over of %i waiters is measured against three processes without logic',
  (waiters) => {
    const beside = (perSecond: number) => {
      const bare = row('three processes, no logic', 'a frame on two of three disks', 1, { perSecond: 1_000 })
      const rows = [row('Latchkey', 'hand-over', waiters, { perSecond }), bare]
      return verdictOf({ rows }, `contended hand-over, ${waiters} waiters`, '0.8 x').met
    }
    expect(beside(800)).toBe(true)
    expect(beside(799)).toBe(false)
  },
)

test('a kill of the leader: the median, the slowest, and no error', () => {
  const killed = (p50: number, p99: number, errors = 0) =>
    verdictOf({ rows: [row('Latchkey', 'leader killed: gap', 1, { p50, p99, errors })] }, 'kill -9', '100 ms')
      .met
  expect(killed(100, 150)).toBe(true)
  expect(killed(101, 150)).toBe(false)
  expect(killed(100, 151)).toBe(false)
  expect(killed(100, 150, 1)).toBe(false)
})

const BOUNDS = [
  ['memory of an idle member', 'under 90', 'start.memory', 90],
  ['memory of a member with 1,000,000', 'under 250', 'keys.rss.1000000', 250],
  ['a new member alone', 'under 400', 'start.one', 400],
  ['three new members', 'under 1000', 'start.three', 1_000],
  ['restart', 'under 1500', 'keys.restart.1000000', 1_500],
  ['the longest turn', 'under 50', 'turns.longest', 50],
] as const

test.each(BOUNDS)('%s: %s', (goal, wanted, id, most) => {
  const met = (value: number) => verdictOf({ facts: [fact(id, value)] }, goal, wanted).met
  expect(met(most - 1)).toBe(true)
  expect(met(most)).toBe(false)
})

test.each(['locks', 'permits', 'leaderships'])('10,000 held %s: few would not do, nor lost ones', (kind) => {
  const met = (taken: number, still: number, cpu: number) => {
    const facts = Object.entries({ taken, still, cpu }).map(([id, value]) =>
      fact(`held.${kind}.${id}`, value),
    )
    return verdictOf({ facts }, `10,000 held ${kind}`, 'under 5 %').met
  }
  expect(met(10_000, 10_000, 0.049)).toBe(true)
  expect(met(10_000, 10_000, 0.05)).toBe(false)
  expect(met(10_000, 9_999, 0.01)).toBe(false)
  expect(met(1_000, 1_000, 0.01)).toBe(undefined)
})

test('small puts beside large ones may be 20 ms later', () => {
  const load = 'small puts, 50 a second,'
  const met = (p99: number) => {
    const rows = [
      row('Latchkey', `${load} alone`, 1, { p99: 5 }),
      row('Latchkey', `${load} beside puts of 1 MiB`, 1, { p99 }),
    ]
    return verdictOf({ rows }, 'a put of 1 MiB', 'by at most').met
  }
  expect(met(25)).toBe(true)
  expect(met(25.1)).toBe(false)
})

test('a leader that falls silent: 300 ms, and no put fails', () => {
  const met = (after: number, failed: number) =>
    verdictOf(
      { facts: [fact('silent.after', after), fact('silent.failed', failed)] },
      'a leader that',
      'within',
    ).met
  expect(met(300, 0)).toBe(true)
  expect(met(301, 0)).toBe(false)
  expect(met(10, 1)).toBe(false)
})

test('a run that measured nothing misses nothing, and meets nothing', () => {
  expect(judge({ rows: [], facts: [] }).filter(({ met }) => met !== undefined)).toEqual([])
})
