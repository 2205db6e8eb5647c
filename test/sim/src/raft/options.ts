// Rule: draws the options of a run. Each seed draws its own mix (swarm testing): the kinds of faults, their
// frequency, the speeds, and what the clients do.

import { type Random, seededRandom } from '@latchkey/base'
import { FAULT_KINDS, type FaultKind } from './fault-kinds.js'

const MS = 1000

export interface MemberOptions {
  readonly electionTimeout: number
  readonly heartbeat: number
  /** The log is compacted beyond this many entries. */
  readonly everyEntries: number
  readonly segmentBytes: number
  readonly chunkBytes: number
  readonly paddingBytes: number
  /** True if waiting commands go into one entry. Otherwise each command has its own entry. */
  readonly batching: boolean
  /** In µs, the longest time until committed entries are applied. */
  readonly applyDelay: number
  readonly maxInflight: number
  readonly maxAppendBytes: number
  /** In bytes. If the log in memory is larger, entries are removed from it that all members have. */
  readonly keptBytes: number
}

/** Times are in µs. Shares are numbers from 0 to 1. */
export interface NetworkOptions {
  /** The shortest delay of a message. `tail` is the largest additional delay. */
  readonly base: number
  readonly tail: number
  /** The shortest and the longest silence after which a member gives up a connection. */
  readonly pulse: readonly [number, number]
  /** True if other members notice a power loss only by silence. */
  readonly silentDeath: boolean
  /** True if messages are encoded to bytes and decoded again. */
  readonly encoded: boolean
  /** Datagrams may be lost, doubled and reordered. Undefined means connections. */
  readonly unreliable:
    | { readonly loss: number; readonly duplicate: number; readonly late: number; readonly inOrder: boolean }
    | undefined
}

/** Times are in µs. */
export interface DiskOptions {
  /** The shortest time of a sync. Some syncs take much longer. */
  readonly syncBase: number
  readonly syncTail: number
  /** The longest time of a sync, even on a slow disk. */
  readonly longest: number
  /** The longest time of a write of the registers. */
  readonly registersMost: number
}

export interface ClientOptions {
  readonly keys: number
  /** The share of reads and the share of swaps. All other operations are writes. */
  readonly reads: number
  readonly swaps: number
  /** In µs, the longest pause between two operations of a client. */
  readonly think: number
  readonly timeout: number
  /** The share of requests and answers that are lost between clients and members. */
  readonly loss: number
  /** The share of requests that go to any member instead of the last known leader. */
  readonly roam: number
}

export interface Options {
  readonly seed: number
  readonly workload: string
  readonly members: number
  /** In µs. After this time the simulator repairs the cluster. */
  readonly duration: number
  readonly network: NetworkOptions
  readonly disk: DiskOptions
  readonly member: MemberOptions
  readonly clients: number
  readonly client: ClientOptions
  /** The largest difference between a clock's rate and 1. */
  readonly drift: number
  readonly faultGap: number
  readonly faults: Readonly<Record<FaultKind, number>>
}

export const RAFT_WORKLOADS = [
  'mixed',
  'storm',
  'membership',
  'snapshots',
  'reads',
  'disk',
  'clocks',
  'network',
] as const
export type RaftWorkload = (typeof RAFT_WORKLOADS)[number]

/**
 * The kinds of faults that are likely in a workload. All other kinds have half of their usual probability.
 */
const FAVOURITES: Readonly<Record<RaftWorkload, readonly FaultKind[]>> = {
  mixed: FAULT_KINDS,
  storm: ['storm', 'crashPoint', 'crash', 'orphan', 'isolate', 'oneWay', 'transfer'],
  membership: ['change', 'transfer', 'isolate', 'crash', 'split'],
  snapshots: ['compact', 'isolate', 'crash', 'crashPoint', 'pause'],
  reads: ['isolate', 'oneWay', 'pause', 'transfer', 'bridge'],
  disk: ['crashPoint', 'crashAll', 'crash', 'slowDisk', 'sickDisk', 'rot'],
  clocks: ['stall', 'suspend', 'step', 'drift', 'pause', 'transfer'],
  network: ['isolate', 'split', 'oneWay', 'bridge', 'link', 'burst'],
}

export function drawOptions(seed: number, forced?: RaftWorkload): Options {
  const random = seededRandom(seed).fork('options')
  const workload = forced ?? random.pick(RAFT_WORKLOADS)
  const electionTimeout = random.pick([150, 300, 500, 1000])
  const heartbeat = Math.floor(electionTimeout / random.pick([5, 10]))
  return {
    seed,
    workload,
    members: drawMembers(random),
    duration: random.between(6_000, 24_000) * MS,
    network: drawNetwork(random, electionTimeout),
    disk: drawDisk(random, electionTimeout),
    member: drawMember(random, electionTimeout, heartbeat, workload),
    clients: random.between(1, 7),
    client: drawClient(random, electionTimeout, workload),
    drift: random.pick([0, 0.0005, 0.005, 0.005, 0.05]),
    faultGap: random.between(1, 6) * electionTimeout * MS,
    faults: drawFaults(random, workload),
  }
}

function drawMembers(random: Random): number {
  const dice = random.float()
  if (dice < 0.02) return 1
  if (dice < 0.08) return 2
  if (dice < 0.55) return 3
  if (dice < 0.67) return 4
  return dice < 0.95 ? 5 : 7
}

function drawNetwork(random: Random, electionTimeout: number): NetworkOptions {
  const datagrams = {
    loss: random.pick([0, 0.01, 0.05, 0.2]),
    duplicate: random.pick([0, 0.02, 0.1, 0.2]),
    late: random.pick([10, 1_000, 20_000]) * MS,
    inOrder: random.chance(0.5),
  }
  const pulse = random.pick([1, 3, 8]) * electionTimeout * MS
  return {
    base: random.between(100, 5_000),
    tail: random.pick([0, 20, 50, 100]) * (electionTimeout / 150) * MS,
    pulse: [pulse, 2 * pulse],
    silentDeath: random.chance(0.5),
    encoded: random.chance(0.2),
    unreliable: random.chance(0.35) ? undefined : datagrams,
  }
}

const drawDisk = (random: Random, electionTimeout: number): DiskOptions => ({
  syncBase: random.pick([100, 500, 3_000]),
  syncTail: random.pick([0, 2, 10, 60]) * (electionTimeout / 150) * MS,
  longest: electionTimeout * 5 * MS,
  registersMost: random.pick([200, 5_000, 100_000]),
})

/** Drawn from a separate stream of random numbers, so that other draws stay the same. */
const KEPT_BYTES = [0, 500, 5_000, 256 * 1024]

function drawMember(
  random: Random,
  electionTimeout: number,
  heartbeat: number,
  workload: RaftWorkload,
): MemberOptions {
  return {
    electionTimeout,
    heartbeat,
    everyEntries: workload === 'snapshots' ? random.between(2, 40) : random.pick([20, 100, 1_000]),
    segmentBytes: random.pick([512, 2_048, 65_536]),
    chunkBytes: random.pick([64, 200, 1024]),
    paddingBytes: random.pick([0, 100, 1_000]),
    batching: random.chance(0.5),
    applyDelay: random.chance(0.3) ? random.between(1, 40) * MS : 0,
    maxInflight: random.pick([1, 2, 8, 64]),
    maxAppendBytes: random.pick([60, 300, 1 << 20]),
    keptBytes: random.fork('kept').pick(KEPT_BYTES),
  }
}

function drawClient(random: Random, electionTimeout: number, workload: RaftWorkload): ClientOptions {
  const reads = workload === 'reads' ? 0.6 : random.pick([0, 0.2, 0.5])
  return {
    keys: random.between(1, 6),
    reads,
    swaps: random.pick([0, 0.1, 0.3]),
    think: random.pick([5, 30, 200]) * MS,
    timeout: electionTimeout * random.between(1, 6) * MS,
    loss: random.pick([0, 0, 0.02]),
    roam: random.pick([0.02, 0.2, 0.8]),
  }
}

/** Returns a weight for each kind of fault. Most runs have few kinds, so that each of them happens often. */
function drawFaults(random: Random, workload: RaftWorkload): Record<FaultKind, number> {
  const favourites = FAVOURITES[workload]
  const weights = FAULT_KINDS.map((kind): [FaultKind, number] => {
    const likely = workload === 'mixed' ? 0.4 : favourites.includes(kind) ? 0.75 : 0.2
    const there = random.chance(likely)
    const weight = random.between(1, 10)
    return [kind, there ? weight : 0]
  })
  return Object.fromEntries(weights) as Record<FaultKind, number>
}
