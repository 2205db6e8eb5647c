// Rule: draws the options of a seed: sizes, speeds, clocks, disks and workloads.

import { type Random, seededRandom } from '@latchkey/base'

const OTHER_WORKLOADS = [
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
export const WHOLE_WORKLOADS = [...OTHER_WORKLOADS, 'idempotency'] as const
export type WholeWorkload = (typeof WHOLE_WORKLOADS)[number]

/** The limit of the production code. No run has more events, so no event is removed. */
export const ALL_EVENTS = 100_000

export interface WholeOptions {
  readonly seed: number
  readonly workload: WholeWorkload
  readonly members: number
  readonly clients: number
  readonly embedded: number
  /** In ms of simulated time, how long faults happen. */
  readonly duration: number
  readonly drift: number
  /**
   * With 'extreme', each clock is as wrong as allowed. With 'beyond', the clocks are ten times as wrong, so
   * only tokens protect.
   */
  readonly clocks: 'true' | 'near' | 'extreme' | 'beyond'
  readonly encoded: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly everyEntries: number
  /** In bytes. If the log in memory is larger, entries are removed from it that all members have. */
  readonly keptBytes: number
  readonly segmentBytes: number
  /** How many bytes a segment of the log grows at a time. */
  readonly growBytes: number
  /** In bytes. A file of the event log is followed by the next file at this size. */
  readonly eventLogBytes: number
  /** How many events members keep. A watch that falls further behind ends with an error. */
  readonly events: number
  readonly flushMillis: number
  readonly flushBytes: number
  readonly sessionLife: number
  /** In µs, the shortest delay of a message. `netTail` is the largest additional delay. */
  readonly netBase: number
  readonly netTail: number
  readonly syncBase: number
  readonly syncTail: number
  readonly rowsMost: number
  readonly pulse: readonly [number, number]
  readonly keys: number
  readonly locks: number
  /** The shortest and the longest lease, in ms. */
  readonly lease: readonly [number, number]
  /** In ms, the longest pause between two calls of one worker. */
  readonly think: number
  /** About how many faults happen per second. */
  readonly faults: number
}

/** Returns the largest difference between the rate of a clock and real time. */
export const spreadOf = ({ clocks, drift }: WholeOptions): number =>
  clocks === 'true' ? 0 : clocks === 'beyond' ? drift * 10 : drift

export function drawWhole(seed: number, only?: WholeWorkload): WholeOptions {
  const random = seededRandom(`whole/${seed}`)
  const workload = only ?? drawWorkload(seed, random.pick(OTHER_WORKLOADS))
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
    keptBytes: seededRandom(`whole-kept/${seed}`).pick([0, 500, 5_000, 256 * 1024]),
    ...drawNet(random),
    ...drawLoad(random, workload),
  }
}

/** Draws from a separate stream of random numbers, so that the seeds of the other workloads stay the same. */
function drawWorkload(seed: number, other: WholeWorkload): WholeWorkload {
  const random = seededRandom(`whole-idempotency/${seed}`)
  return random.chance(1 / WHOLE_WORKLOADS.length) ? 'idempotency' : other
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

/** Draws from a separate stream of random numbers, so that other draws stay the same. */
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
    // In the workload `idle`, many leases and sessions end during the pauses. With barriers, a caller
    // sometimes waits alone when its session ends.
    think:
      workload === 'idle' ? 20_000 : random.pick(workload === 'barriers' ? [20, 200, 1_500] : [20, 60, 200]),
    faults: workload === 'idle' ? 0.1 : random.pick([0.2, 0.6, 1, 2]),
  }
}
