// Rule: what the project set itself to reach, judged from what a run found. Ratios are against peers of the
// same run. A goal must be met; an aim is beyond the goals, and decides nothing.

import type { Fact, LoadRow, Report, Verdict } from './report.js'

type Found = Pick<Report, 'rows' | 'facts' | 'settings' | 'systems'>

export function judge(found: Found): Verdict[] {
  return [
    ...pairGoals(found),
    ...everydayGoals(found),
    ...putAndGetGoals(found),
    ...handOverGoals(found),
    orderly(found),
    ...failoverGoals(found),
    silenceGoal(found),
    ...renewalGoals(found),
    ...memoryGoals(found),
    ...readyGoals(found),
    ...turnGoals(found),
    largeValueGoal(found),
    ...flatGoals(found),
    growsWithCallers(found),
    ...commandGoals(found),
    proposalGoal(found),
    soakGoal(found),
  ].filter((verdict) => verdict !== undefined)
}

const OURS = 'Latchkey'

/** A load, and the scene that measures it. */
interface Load {
  readonly scene: string
  readonly load: string
  readonly callers: number
}

const PAIRS: Load = { scene: 'loads', load: 'lock pair', callers: 256 }
const PAIR: Load = { ...PAIRS, callers: 1 }
const PUTS: Load = { ...PAIRS, load: 'put 256 B' }
const GETS: Load = { ...PAIRS, load: 'get' }
const BARE: Load = { scene: 'floor', load: 'a frame on two of three disks', callers: 1 }
const handOver = (waiters: number): Load => ({ scene: 'hand-over', load: 'hand-over', callers: waiters })

const rowOf = ({ rows }: Found, { load, callers }: Omit<Load, 'scene'>, system = OURS): LoadRow | undefined =>
  rows.find((row) => row.system === system && row.load === load && row.callers === callers)

const factOf = ({ facts }: Found, id: string): Fact | undefined => facts.find((fact) => fact.id === id)

const times = (factor: number) => `${factor.toFixed(1)} x`

/** Scenes that hold fewer keys or locks in a quick run than their goals are about. */
const SMALLER_IN_A_QUICK_RUN = ['keys', 'held']

/**
 * The verdict on a goal without a figure. If all scenes and the peer that the goal needs took part in the run, the goal is
 * missed. Otherwise the run cannot judge the goal.
 */
function withoutFigure(
  { settings, systems }: Found,
  [goal, wanted]: readonly [string, string],
  scenes: readonly string[],
  peer?: string,
): Verdict {
  const ran = (scene: string) =>
    settings.scenes.includes(scene) && !(settings.quick && SMALLER_IN_A_QUICK_RUN.includes(scene))
  const hasPeer = peer === undefined || systems.some(({ name, tookPart }) => name === peer && tookPart)
  if (scenes.every(ran) && hasPeer)
    return { goal, wanted, found: 'no figure, although the run did what the goal needs', met: false }
  return { goal, wanted, found: 'not measured', met: undefined }
}

const asAim = (verdict: Verdict): Verdict => ({ ...verdict, aim: true })

/** A load's rate beside that of a peer. */
function ratio(found: Found, goal: string, load: Load, [peer, least]: readonly [string, number]): Verdict {
  const ours = rowOf(found, load)
  const theirs = rowOf(found, load, peer)
  const wanted = `${least} x ${peer}`
  if (ours === undefined || theirs === undefined || theirs.perSecond === 0)
    return withoutFigure(found, [goal, wanted], [load.scene], peer)
  const factor = ours.perSecond / theirs.perSecond
  const told = `${times(factor)} (${ours.perSecond}/s, ${theirs.perSecond}/s)`
  return { goal, wanted, found: told, met: factor >= least && ours.errors === 0 }
}

/** The p50 of a load with one caller beside that of a peer. */
function shorter(found: Found, goal: string, load: Load, [peer, most]: readonly [string, number]): Verdict {
  const wanted = `at most ${most} x ${peer}'s`
  const ours = rowOf(found, load)
  const theirs = rowOf(found, load, peer)
  if (ours === undefined || theirs === undefined || theirs.samples === 0)
    return withoutFigure(found, [goal, wanted], [load.scene], peer)
  const told = `${(ours.p50 / theirs.p50).toFixed(2)} x (${ours.p50} ms, ${theirs.p50} ms)`
  const met = ours.samples > 0 && ours.errors === 0 && ours.p50 <= theirs.p50 * most
  return { goal, wanted, found: told, met }
}

/** The id of each fact begins with the name of the scene that found it. */
const sceneOf = (id: string) => id.split('.')[0] as string

/** A fact that has to be smaller. */
function under(found: Found, goal: string, id: string, most: number, unit: string): Verdict {
  const fact = factOf(found, id)
  const wanted = `under ${most} ${unit}`
  if (fact === undefined) return withoutFigure(found, [goal, wanted], [sceneOf(id)])
  return { goal, wanted, found: `${fact.value} ${fact.unit}`, met: fact.value < most }
}

function pairGoals(found: Found): Verdict[] {
  const many = 'lock pairs, 256 callers'
  const one = 'lock pair, 1 caller in a closed loop, p50'
  return [
    ...(
      [
        ['etcd', 14],
        ['Redlock', 2],
        ['RheaKV', 10],
      ] as const
    ).map((bound) => ratio(found, many, PAIRS, bound)),
    asAim(ratio(found, many, PAIRS, ['Redis', 1])),
    shorter(found, one, PAIR, ['etcd', 0.5]),
    shorter(found, one, PAIR, ['ZooKeeper', 1]),
    asAim(shorter(found, one, PAIR, ['Redlock', 1])),
  ]
}

function everydayGoals(found: Found): Verdict[] {
  return [
    ['everyday', 'fresh'],
    ['everyday-later', 'old'],
  ].flatMap(([scene = '', members]) => {
    const load = `lock pair, 10 a second, ${members} members`
    const source = { scene, load, callers: 1 }
    return [
      shorter(found, `${load}, p50`, source, ['etcd', 0.5]),
      asAim(shorter(found, `${load}, p50`, source, ['Redlock', 1.5])),
    ]
  })
}

function putAndGetGoals(found: Found): Verdict[] {
  const [put, get] = ['put of 256 B, 256 callers', 'linearizable get, 256 callers'] as const
  return [
    ratio(found, put, PUTS, ['etcd', 10]),
    ratio(found, put, PUTS, ['RheaKV', 3]),
    asAim(ratio(found, put, PUTS, ['Redis', 0.1])),
    ratio(found, get, GETS, ['etcd', 25]),
    ratio(found, get, GETS, ['RheaKV', 5]),
    asAim(ratio(found, get, GETS, ['Redis', 1])),
  ]
}

/** Hand-overs are one commit after the other, as are the frames of the scene `floor`. */
function handOverGoals(found: Found): Verdict[] {
  return [8, 64].flatMap((waiters) => {
    const goal = `contended hand-over, ${waiters} waiters`
    return [
      ofFloor(found, goal, waiters, 0.8),
      asAim(ofFloor(found, goal, waiters, 1)),
      ratio(found, goal, handOver(waiters), ['RheaKV', 30]),
    ]
  })
}

function ofFloor(found: Found, goal: string, waiters: number, least: number): Verdict {
  const wanted = `${least} x three bare processes`
  const load = handOver(waiters)
  const ours = rowOf(found, load)
  const bare = rowOf(found, BARE, 'three processes, no logic')
  if (ours === undefined || bare === undefined)
    return withoutFigure(found, [goal, wanted], [load.scene, BARE.scene])
  const part = ours.perSecond / bare.perSecond
  const told = `${part.toFixed(2)} x (${ours.perSecond}/s, ${bare.perSecond}/s)`
  return { goal, wanted, found: told, met: part >= least }
}

function orderly(found: Found): Verdict {
  const goal = 'contended hand-over, strict order'
  const wanted = 'nobody overtaken'
  const rows = [8, 64].map((waiters) => rowOf(found, handOver(waiters))).filter((row) => row !== undefined)
  if (rows.length === 0) return withoutFigure(found, [goal, wanted], ['hand-over'])
  const overtaken = rows.reduce((sum, row) => sum + row.errors, 0)
  return { goal, wanted, found: `${overtaken} out of order or failed`, met: overtaken === 0 }
}

function failoverGoals(found: Found): Verdict[] {
  const kill = 'kill -9 of the leader to the next success'
  const killed = rowOf(found, { load: 'leader killed: gap', callers: 1 })
  const killedWithin = (wanted: string, median: number, slowest: number): Verdict => {
    if (killed === undefined) return withoutFigure(found, [kill, wanted], ['failover'])
    const { p50, p99, samples, errors } = killed
    const told = `${p50} ms, slowest ${p99} ms of ${samples}, ${errors} errors`
    return { goal: kill, wanted, found: told, met: errors === 0 && p50 <= median && p99 <= slowest }
  }
  return [
    killedWithin('100 ms median, 150 ms slowest of 20', 100, 150),
    asAim(killedWithin('40 ms median', 40, Number.POSITIVE_INFINITY)),
    stopGoal(found),
  ]
}

function stopGoal(found: Found): Verdict {
  const goal = 'graceful stop of the leader'
  const wanted = 'no failed call, no gap over 100 ms'
  const stopped = rowOf(found, { load: 'leader stopped: longest gap', callers: 8 })
  if (stopped === undefined) return withoutFigure(found, [goal, wanted], ['stop'])
  const { p99, errors } = stopped
  const told = `longest gap ${p99} ms, ${errors} failed calls`
  return { goal, wanted, found: told, met: errors === 0 && p99 <= 100 }
}

function silenceGoal(found: Found): Verdict {
  const goal = 'a leader that falls silent: a put is answered'
  const wanted = "within 300 ms of the next leader's start, none fails"
  const [longest, failed] = ['silent.after', 'silent.failed'].map((id) => factOf(found, id))
  if (longest === undefined || failed === undefined) return withoutFigure(found, [goal, wanted], ['silent'])
  const told = `${longest.value} ms at the most, ${failed.value} failed`
  return { goal, wanted, found: told, met: longest.value <= 300 && failed.value === 0 }
}

const HELD = 10_000
const MILLION = 1_000_000

function renewalGoals(found: Found): Verdict[] {
  return ['locks', 'permits', 'leaderships'].flatMap((kind) => {
    const goal = `10,000 held ${kind} renewed, part of a core of the busiest member`
    const [taken, still, cpu] = ['taken', 'still', 'cpu'].map((id) => factOf(found, `held.${kind}.${id}`))
    const below = (most: number): Verdict => {
      const wanted = `under ${most} %`
      if (taken === undefined || still === undefined || cpu === undefined || taken.value < HELD)
        return withoutFigure(found, [goal, wanted], ['held'])
      const told = `${(cpu.value * 100).toFixed(1)} %, ${still.value} still held`
      return { goal, wanted, found: told, met: cpu.value * 100 < most && still.value >= HELD }
    }
    return [below(5), asAim(below(2))]
  })
}

function memoryGoals(found: Found): Verdict[] {
  const million = 'memory of a member with 1,000,000 keys of 100 B'
  return [
    under(found, 'memory of an idle member', 'start.memory', 90, 'MB'),
    under(found, million, `keys.rss.${MILLION}`, 250, 'MiB'),
    asAim(under(found, million, `keys.rss.${MILLION}`, 200, 'MiB')),
  ]
}

function readyGoals(found: Found): Verdict[] {
  return [
    under(found, 'a new member alone is ready', 'start.one', 400, 'ms'),
    under(found, 'three new members have a leader and are ready', 'start.three', 1000, 'ms'),
    under(found, 'restart with 1,000,000 keys', `keys.restart.${MILLION}`, 1500, 'ms'),
  ]
}

/** For a machine where Node alone takes up to 130 ms. */
function commandGoals(found: Found): Verdict[] {
  return [
    asAim(under(found, 'latchkey --version', 'start.version', 200, 'ms')),
    asAim(under(found, 'latchkey put', 'start.put', 250, 'ms')),
  ]
}

function turnGoals(found: Found): Verdict[] {
  const goal = 'the longest turn that a command causes on a member'
  return [under(found, goal, 'turns.longest', 50, 'ms'), asAim(under(found, goal, 'turns.longest', 10, 'ms'))]
}

/** Small calls beside large ones. */
function largeValueGoal(found: Found): Verdict {
  const goal = 'a put of 1 MiB delays small puts, p99'
  const wanted = 'by at most 20 ms'
  const alone = rowOf(found, { load: 'small puts, 50 a second, alone', callers: 1 })
  const beside = rowOf(found, { load: 'small puts, 50 a second, beside puts of 1 MiB', callers: 1 })
  if (alone === undefined || beside === undefined) return withoutFigure(found, [goal, wanted], ['values'])
  const delay = beside.p99 - alone.p99
  const told = `${delay.toFixed(1)} ms (${alone.p99} ms, ${beside.p99} ms)`
  return { goal, wanted, found: told, met: delay <= 20 && alone.errors + beside.errors === 0 }
}

/** Medians differ from run to run by this much on a machine that does other things as well. */
const FLAT = 1.5

const flatGoals = (found: Found): Verdict[] =>
  [1, 16].flatMap((callers) => ['put 100 B', 'get'].map((load) => flat(found, load, callers)))

function flat(found: Found, load: string, callers: number): Verdict {
  const goal = `${load}, ${callers === 1 ? 'one caller' : `${callers} callers`}: flat latency from 1,000 to 1,000,000 keys`
  const wanted = `p50 under ${FLAT} x`
  const small = rowOf(found, { load: `${load}, 1,000 keys`, callers })
  const big = rowOf(found, { load: `${load}, 1,000,000 keys`, callers })
  if (small === undefined || big === undefined) return withoutFigure(found, [goal, wanted], ['keys'])
  const told = `${times(big.p50 / small.p50)} (${small.p50} ms, ${big.p50} ms)`
  return { goal, wanted, found: told, met: big.p50 < small.p50 * FLAT }
}

function growsWithCallers(found: Found): Verdict {
  const goal = 'lock pairs a second grow with callers'
  const rows = found.rows.filter((row) => row.system === OURS && row.load === PAIRS.load)
  const wanted = 'never less'
  if (rows.length < 2) return withoutFigure(found, [goal, wanted], [PAIRS.scene])
  const rates = rows.toSorted((a, b) => a.callers - b.callers).map((row) => row.perSecond)
  // Once the cores are full a tenth up or down is noise.
  const met = rates.every((rate, i) => i === 0 || rate >= (rates[i - 1] as number) * 0.9)
  return { goal, wanted, found: rates.map((rate) => `${rate}/s`).join(', '), met }
}

function proposalGoal(found: Found): Verdict {
  const goal = 'proposals without a state machine'
  const wanted = '100000/s'
  const row = found.rows.find(({ load }) => load === 'proposals of 16 B')
  if (row === undefined) return withoutFigure(found, [goal, wanted], ['proposals'])
  const met = row.perSecond >= 100_000 && row.errors === 0
  return { goal, wanted, found: `${row.perSecond}/s, ${row.errors} errors`, met }
}

/** A goal only of runs that name this scene, which takes ten minutes. */
function soakGoal(found: Found): Verdict | undefined {
  if (!found.settings.scenes.includes('soak')) return undefined
  const goal = "the leader's memory under ten minutes of load"
  const wanted = 'no more late than early (10 %)'
  const [early, late] = ['soak.early', 'soak.late'].map((id) => factOf(found, id))
  if (early === undefined || late === undefined) return withoutFigure(found, [goal, wanted], ['soak'])
  const told = `${early.value} MiB early, ${late.value} MiB late`
  return { goal, wanted, found: told, met: late.value <= early.value * 1.1 }
}
