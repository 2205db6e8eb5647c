// Rule: swarm testing. Each seed draws its own mix: which faults there are at all, how often, how slow things
// are, who asks for what.

import { type Random, seededRandom } from '@latchkey/base'
import { FAULT_KINDS, type FaultKind } from './fault-kinds.js'

const MS = 1000

export interface MemberOptions {
  readonly electionTimeout: number
  readonly heartbeat: number
  /** The log is compacted beyond this many entries. */
  readonly everyEntries: number
  readonly segmentBytes: number
  /** Bytes of one piece of a snapshot. */
  readonly chunkBytes: number
  readonly paddingBytes: number
  /** Commands that wait together go into one entry; otherwise each has an entry of its own. */
  readonly batching: boolean
  /** Microseconds until committed entries are applied, at most. */
  readonly applyDelay: number
  readonly maxInflight: number
  readonly maxAppendBytes: number
}

/** Microseconds, but for shares. */
export interface NetworkOptions {
  /** What every message needs, and a long-tailed extra delay. */
  readonly base: number
  readonly tail: number
  /** Silence after which an end of a connection gives up, at least and at most. */
  readonly pulse: readonly [number, number]
  /** Nobody hears of a power loss but by silence. */
  readonly silentDeath: boolean
  /** Messages are made bytes and read again. */
  readonly encoded: boolean
  /** As datagrams, which may be lost, doubled and reordered; undefined: as connections. */
  readonly unreliable:
    | { readonly loss: number; readonly duplicate: number; readonly late: number; readonly inOrder: boolean }
    | undefined
}

/** Microseconds. */
export interface DiskOptions {
  /** Of a sync, at least and as a long tail. */
  readonly syncBase: number
  readonly syncTail: number
  /** Of a sync on a slow disk too. */
  readonly longest: number
  /** Of a write of the registers, at most. */
  readonly registersMost: number
}

export interface ClientOptions {
  readonly keys: number
  /** Share of reads, of swaps; the rest writes. */
  readonly reads: number
  readonly swaps: number
  /** Microseconds between two operations, at most. */
  readonly think: number
  readonly timeout: number
  /** Share of answers and questions that get lost on the way. */
  readonly loss: number
  /** Asks any member, not the last known leader. */
  readonly roam: number
}

export interface Options {
  readonly seed: number
  readonly workload: string
  readonly members: number
  /** Microseconds of faults; then comes the healing. */
  readonly duration: number
  readonly network: NetworkOptions
  readonly disk: DiskOptions
  readonly member: MemberOptions
  readonly clients: number
  readonly client: ClientOptions
  /** How far a clock's rate may be from 1. */
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

/** What a workload makes likely; everything else is drawn as in a mixed run, with half the chance. */
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

/** A weight for each kind; most runs lack most kinds, so that those which are there are met in depth. */
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
