// Driver: runs one seed to its verdict: first faults and safety, then a healed majority and progress.

import { checkRegister } from '../history/register.js'
import { type Ending, endingOf, LawBroken, NoProgress, PASS, type Verdict } from '../laws/verdict.js'
import { drawPlan, type Fault } from './draw-faults.js'
import type { RaftModules } from './raft-modules.js'
import { Nemesis } from './nemesis.js'
import type { Options } from './options.js'
import { demandProgress } from './progress.js'
import { type RunMode, RaftWorld } from './raft-world.js'

export interface RunResult {
  readonly seed: number
  readonly verdict: Verdict
  /** The law that was broken, or what was missing. */
  readonly law: string
  readonly message: string
  readonly hash: string
  /** Microseconds of virtual time. */
  readonly time: number
  readonly events: number
  readonly elections: number
  readonly crashes: number
  readonly snapshots: number
  readonly changes: number
  readonly entries: number
  readonly operations: number
  readonly faults: readonly Fault[]
  readonly trace: readonly string[]
}

export async function run(
  options: Options,
  modules: RaftModules,
  mode: RunMode & { readonly faults?: readonly Fault[] } = {},
): Promise<RunResult> {
  const faults = mode.faults ?? drawPlan(options)
  const world = new RaftWorld(options, modules, mode)
  const failure = await attempt(world, () => live(world, faults))
  return summary(world, faults, failure)
}

/** What goes wrong outside of an event ends the run too. */
export async function attempt(world: RaftWorld, what: () => Promise<void>): Promise<Ending> {
  const stray = (error: unknown) => world.time.fail(error)
  process.on('unhandledRejection', stray)
  process.on('uncaughtException', stray)
  try {
    await what()
    return PASS
  } catch (error) {
    return endingOf(error)
  } finally {
    process.off('unhandledRejection', stray)
    process.off('uncaughtException', stray)
  }
}

async function live(world: RaftWorld, faults: readonly Fault[]): Promise<void> {
  const { options, clients, laws } = world
  const nemesis = new Nemesis(world)
  await found(world)
  clients.start(options.clients)
  nemesis.schedule(faults)
  await world.run(world.time.now + options.duration)
  clients.stop()
  nemesis.end()
  await demandProgress(world)
  clients.finish()
  laws.finish()
  judgeHistory(world)
}

/** Microseconds within which all members of a calm world know their cluster. */
const LONGEST_FOUNDING = 60_000_000

/** Fresh members wait for each other before they vote (M13), so faults come once the cluster is founded. */
export async function found(world: RaftWorld): Promise<void> {
  const isFounded = () => world.members.every(({ clusterId }) => clusterId !== '')
  world.start()
  await world.run(LONGEST_FOUNDING, isFounded)
  if (!isFounded()) throw new NoProgress('founding', `no cluster after ${LONGEST_FOUNDING / 1e6} s`)
}

function judgeHistory({ history }: RaftWorld): void {
  for (const [key, operations] of history.keys()) {
    const verdict = checkRegister(operations)
    if (verdict.ok === true) continue
    if (verdict.ok === undefined) throw new Error(`the history of register ${key} is too long to judge`)
    throw new LawBroken(
      'linearizability',
      `register ${key}: no order of its ${operations.length} operations fits`,
    )
  }
}

function summary(world: RaftWorld, faults: readonly Fault[], failure: Ending): RunResult {
  const { laws, history, options, time, crashes, trace } = world
  const { elections, snapshots, changes, commits } = laws.counts
  for (const member of world.members) world.note(() => `${member.id}: ${member.describe()}`)
  time.print.addText(failure.verdict + failure.law)
  time.print.add(history.size)
  time.print.add(laws.observed.commitTop)
  return {
    ...failure,
    seed: options.seed,
    hash: time.print.text(),
    time: time.now,
    events: time.events,
    elections,
    crashes,
    snapshots,
    changes,
    entries: commits,
    operations: history.size,
    faults,
    trace,
  }
}
