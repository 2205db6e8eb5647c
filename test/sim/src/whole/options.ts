// Rule: what a seed stands for: sizes, speeds, clocks, disks and what is done there. Drawn from the seed
// alone.

import { type Random, seededRandom } from '@latchkey/base'

export const WHOLE_WORKLOADS = [
  'kv',
  'renewing',
  'deadline',
  'waiters',
  'power',
  'snapshots',
  'members',
  'idle',
  'expiry',
  'sharing',
  'barriers',
] as const
export type WholeWorkload = (typeof WHOLE_WORKLOADS)[number]

/** As in production: none is trimmed within a run. */
export const ALL_EVENTS = 100_000

export interface WholeOptions {
  readonly seed: number
  readonly workload: WholeWorkload
  readonly members: number
  readonly clients: number
  /** Clients that live in a member's own process. */
  readonly embedded: number
  /** ms of virtual time before faults end. */
  readonly duration: number
  readonly drift: number
  /**
   * 'extreme': each clock is as wrong as it may be. 'beyond': ten times as wrong; then only the tokens
   * protect.
   */
  readonly clocks: 'true' | 'near' | 'extreme' | 'beyond'
  readonly encoded: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly everyEntries: number
  readonly segmentBytes: number
  /** A segment is made longer by so much at once. */
  readonly growBytes: number
  /** A file of the event log is closed when it has so much. */
  readonly eventLogBytes: number
  /** So many are kept; a watch that falls behind further is told. */
  readonly events: number
  readonly flushMillis: number
  readonly flushBytes: number
  readonly sessionLife: number
  /** Microseconds. */
  readonly netBase: number
  readonly netTail: number
  readonly syncBase: number
  readonly syncTail: number
  readonly rowsMost: number
  readonly pulse: readonly [number, number]
  readonly keys: number
  readonly locks: number
  /** ms. */
  readonly lease: readonly [number, number]
  /** ms between two calls of one worker, at most. */
  readonly think: number
  /** Faults in a second, about. */
  readonly faults: number
}

/** The rates of clocks differ by no more than this from true time. */
export const spreadOf = ({ clocks, drift }: WholeOptions): number =>
  clocks === 'true' ? 0 : clocks === 'beyond' ? drift * 10 : drift

export function drawWhole(seed: number, only?: WholeWorkload): WholeOptions {
  const random = seededRandom(`whole/${seed}`)
  const workload = only ?? random.pick(WHOLE_WORKLOADS)
  const torture = workload === 'snapshots' || random.chance(0.3)
  const electionTimeout = random.pick([200, 300, 500, 1_000])
  return {
    seed,
    workload,
    members: random.pick(workload === 'members' ? [3] : [1, 3, 3, 3, 3, 3, 5]),
    clients: random.between(2, 5),
    embedded: random.chance(workload === 'members' ? 0.6 : 0.3) ? 1 : 0,
    duration: random.between(6_000, 14_000) * (workload === 'idle' ? 8 : 1),
    drift: 0.005,
    clocks: random.pick(['true', 'near', 'near', 'extreme', 'extreme', 'extreme', 'extreme', 'beyond']),
    encoded: random.chance(0.25),
    electionTimeout,
    heartbeat: Math.floor(electionTimeout / random.pick([4, 10])),
    ...drawDisk(random, torture),
    ...drawEventLog(seed),
    ...drawNet(random),
    ...drawLoad(random, workload),
  }
}

function drawDisk(random: Random, torture: boolean) {
  return {
    everyEntries: torture ? random.between(4, 40) : 1_000,
    growBytes: 512,
    segmentBytes: torture ? random.pick([1_024, 4_096]) : 65_536,
    flushMillis: random.pick([5, 50, 50, 400]),
    flushBytes: random.pick([200, 4_000_000]),
    syncBase: random.pick([100, 1_000, 3_000]),
    syncTail: random.pick([1_000, 20_000, 200_000]),
    rowsMost: random.pick([200, 5_000, 100_000]),
  }
}

/** From a stream of its own. */
function drawEventLog(seed: number) {
  const random = seededRandom(`whole-journal/${seed}`)
  return {
    eventLogBytes: random.pick([300, 1_000, 5_000, 1_000_000]),
    events: random.pick([20, 60, 200, ALL_EVENTS, ALL_EVENTS, ALL_EVENTS]),
  }
}

function drawNet(random: Random) {
  return {
    netBase: random.pick([100, 500, 2_000]),
    netTail: random.pick([0, 5_000, 60_000]),
    pulse: random.pick([
      [200_000, 600_000],
      [800_000, 4_000_000],
    ] as const),
  }
}

function drawLoad(random: Random, workload: WholeWorkload) {
  const least = random.pick([150, 400, 1_000])
  return {
    sessionLife: random.pick([1_500, 5_000, 30_000]),
    keys: random.between(1, 5),
    locks: workload === 'waiters' || workload === 'sharing' ? 1 : random.between(1, 3),
    lease: [least, least * random.pick([1, 3])] as const,
    // Idle: longer than leases and sessions, so that nothing happens for a while and much runs out.
    // Meetings: also so seldom that a party waits alone when its session ends.
    think:
      workload === 'idle' ? 20_000 : random.pick(workload === 'barriers' ? [20, 200, 1_500] : [20, 60, 200]),
    faults: workload === 'idle' ? 0.1 : random.pick([0.2, 0.6, 1, 2]),
  }
}
