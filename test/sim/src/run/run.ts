// Driver: runs one seed to its verdict: first faults and safety, then a healed majority and progress.

import { checkRegister } from '../history/register.js'
import { type Ending, endingOf, LawBroken, NoProgress, PASS, type Verdict } from '../laws/broken.js'
import type { CoreModule } from '../member/core-module.js'
import { drawPlan, type Fault } from '../swarm/faults.js'
import { Nemesis } from '../swarm/nemesis.js'
import type { Options } from '../swarm/options.js'
import { demandProgress } from './progress.js'
import { type RunMode, Simulation } from './simulation.js'

/** More than this many events in one seed is a storm of messages, and a failure of its own. */
export const EVENT_BUDGET = 1_500_000

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

export function run(
  options: Options,
  core: CoreModule,
  mode: RunMode & { readonly faults?: readonly Fault[] } = {},
): RunResult {
  const faults = mode.faults ?? drawPlan(options)
  const simulation = new Simulation(options, core, mode)
  const failure = attempt(simulation, faults)
  return summary(simulation, faults, failure)
}

function attempt(simulation: Simulation, faults: readonly Fault[]): Ending {
  try {
    live(simulation, faults)
    return PASS
  } catch (error) {
    return endingOf(error)
  }
}

function live(simulation: Simulation, faults: readonly Fault[]): void {
  const { world, options, clients } = simulation
  const nemesis = new Nemesis(world, simulation)
  simulation.start()
  nemesis.schedule(faults)
  if (world.runUntil(options.duration, EVENT_BUDGET) === 'storm') {
    throw new NoProgress('storm', `more than ${EVENT_BUDGET} events in ${options.duration / 1e6} s`)
  }
  clients.stop()
  nemesis.end()
  demandProgress(simulation)
  clients.finish()
  world.watch.finish()
  judgeHistory(simulation)
}

function judgeHistory({ history }: Simulation): void {
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

function summary(
  { world, history, options }: Simulation,
  faults: readonly Fault[],
  failure: Ending,
): RunResult {
  const { counts } = world.watch
  for (const seat of world.seats) {
    world.note(() => `${seat.id} is ${seat.state}: ${seat.member?.view.describe() ?? seat.stopped ?? ''}`)
  }
  world.fingerprint.addText(failure.verdict + failure.law)
  world.fingerprint.add(history.size)
  world.fingerprint.add(world.watch.ledger.commitTop)
  return {
    ...failure,
    seed: options.seed,
    hash: world.fingerprint.text(),
    time: world.now,
    events: world.counts.events,
    elections: counts.elections,
    crashes: world.counts.crashes,
    snapshots: counts.snapshots,
    changes: counts.changes,
    entries: counts.commits,
    operations: history.size,
    faults,
    trace: world.trace,
  }
}
