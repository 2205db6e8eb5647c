// Test: each goal is met at its limit and missed beyond it. A goal without a figure is missed if the run did what the
// goal needs, and otherwise neither met nor missed.

import { expect, test } from 'vitest'
import { PEERS, SCENES } from '../plan.js'
import { judge } from './goals.js'
import type { Fact, LoadRow, Report, Verdict } from './report.js'
import { goalsForTerminal } from './table.js'

type Found = Pick<Report, 'rows' | 'facts'>

interface Ran {
  readonly scenes?: readonly string[]
  readonly peers?: readonly string[]
  readonly quick?: boolean
}

const ALL_SCENES = SCENES.map(({ name }) => name)
const ALL_PEERS = PEERS.map(({ name }) => name)

/** The verdicts on a run of these scenes with these peers. The other peers were not installed. */
const judged = (found: Partial<Found>, { scenes = [], peers = [], quick = false }: Ran = {}): Verdict[] =>
  judge({
    ...{ rows: [], facts: [], ...found, settings: { seconds: 1, warmUpSeconds: 1, quick, scenes } },
    systems: ALL_PEERS.map((name) => ({ name, setting: '', tookPart: peers.includes(name) })),
  })

const row = (system: string, load: string, callers: number, more: Partial<LoadRow>): LoadRow => ({
  ...{ system, load, callers, perSecond: 0, p50: 0, p99: 0, samples: 20, errors: 0 },
  ...more,
})

const fact = (id: string, value: number): Fact => ({ id, what: id, value, unit: 'ms' })

const verdictOf = (found: Partial<Found>, goal: string, wanted: string): Verdict => {
  const [verdict, ...others] = judged(found).filter(
    (one) => one.goal.startsWith(goal) && one.wanted.startsWith(wanted),
  )
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
  expect(judged({}).filter(({ met }) => met !== undefined)).toEqual([])
})

test('a run of all scenes and peers that found no figure misses each goal', () => {
  const verdicts = judged({}, { scenes: ALL_SCENES, peers: ALL_PEERS })
  expect(verdicts.filter(({ met }) => met !== false)).toEqual([])
  expect(verdicts.length).toBe(judged({}).length + 1) // and the goal of the scene soak
})

/** The scenes and the peers of a run, and the only goals that the run misses if it finds no figure. */
const NEEDS: readonly [Ran, readonly string[]][] = [
  [{ scenes: ['loads'] }, ['lock pairs a second grow']],
  [{ scenes: ['loads'], peers: ['ZooKeeper'] }, ['lock pair, 1 caller', 'lock pairs a second grow']],
  [
    { scenes: ['loads'], peers: ['RheaKV'] },
    ['lock pairs, 256', 'put of 256 B', 'linearizable get', 'lock pairs a second grow'],
  ],
  [{ scenes: ['everyday'], peers: ['etcd'] }, ['lock pair, 10 a second, fresh']],
  [{ scenes: ['everyday-later'], peers: ['etcd'] }, ['lock pair, 10 a second, old']],
  [{ scenes: ['hand-over'] }, ['contended hand-over, strict']],
  [
    { scenes: ['hand-over'], peers: ['RheaKV'] },
    ['contended hand-over, 8', 'contended hand-over, 64', 'contended hand-over, strict'],
  ],
  [{ scenes: ['floor'], peers: ALL_PEERS }, []],
  [{ scenes: ['failover'] }, ['kill -9']],
  [{ scenes: ['stop'] }, ['graceful stop']],
  [{ scenes: ['silent'] }, ['a leader that falls silent']],
  [{ scenes: ['held'] }, ['10,000 held locks', '10,000 held permits', '10,000 held leaderships']],
  [{ scenes: ['held'], quick: true }, []],
  [{ scenes: ['turns'] }, ['the longest turn']],
  [{ scenes: ['values'] }, ['a put of 1 MiB']],
  [{ scenes: ['keys'], quick: true }, []],
  [{ scenes: ['proposals'] }, ['proposals without']],
  [{ scenes: ['soak'] }, ["the leader's memory"]],
]

test.each(NEEDS)(
  '%j: a goal without a figure is missed only if the run did what the goal needs',
  (ran, goals) => {
    const missed = judged({}, ran).filter(({ met, aim }) => met === false && !aim)
    expect(missed.map(({ goal }) => goals.findIndex((start) => goal.startsWith(start)))).toEqual(
      goals.map((_, i) => i),
    )
  },
)

test('the terminal shows the goals that the run measured or missed, and counts the others', () => {
  const ran: Ran = { scenes: ['loads', 'turns'], peers: ['etcd'] }
  const verdicts = judged({ facts: [fact('turns.longest', 7)] }, ran)
  const told = goalsForTerminal(verdicts)
  expect(told).toMatch(/the longest turn .* 7 ms +yes/)
  expect(told).toMatch(/lock pairs, 256 callers +14 x etcd +no figure, .* NO/)
  expect(told).not.toMatch(/RheaKV|not measured/)
  const others = verdicts.filter(({ met }) => met === undefined).length
  expect(told).toContain(`did not measure ${others} other goals`)
  expect(told).toContain('npm run bench -- --peers')
  expect(told.split('\n')).toHaveLength(1 + verdicts.length - others + 2)
})

test('a run that measured or missed all goals says nothing of other goals', () => {
  const whole = judged({}, { scenes: ALL_SCENES, peers: ALL_PEERS })
  expect(goalsForTerminal(whole)).not.toContain('did not measure')
})
