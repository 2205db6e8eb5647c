// Driver: runs one seed. At first faults happen. After the faults the cluster must make progress.

import { type Ending, endingOf, NoProgress, PASS } from '../laws/verdict.js'
import type { World } from '../world/world.js'

export interface NumberedFault {
  /** The number of the fault in the list of the seed, for the option `--only`. */
  readonly number: number
  readonly kind: string
}

export interface RunResult<Fault = NumberedFault> extends Ending {
  readonly seed: number
  /** Two runs with the same hash were equal to the byte. */
  readonly hash: string
  /** In µs, the simulated time. */
  readonly time: number
  readonly events: number
  readonly counts: Readonly<Record<string, number>>
  readonly faults: readonly Fault[]
  readonly trace: readonly string[]
}

interface Phases<Fault> {
  /** Called when the cluster is founded. */
  readonly startFaults: (faults: readonly Fault[]) => void
  readonly endFaults: () => void
  readonly demandProgress: () => Promise<void>
  readonly judgeHistory: () => void
}

export async function runSeed<Fault>(
  world: World,
  faults: readonly Fault[],
  { startFaults, endFaults, demandProgress, judgeHistory }: Phases<Fault>,
): Promise<RunResult<Fault>> {
  const { time, trace, laws } = world
  const ending = await attempt(world, async () => {
    await found(world)
    startFaults(faults)
    await world.run(time.now + world.duration)
    endFaults()
    world.note(() => 'no fault happens from now on')
    await demandProgress()
    laws.finish()
    judgeHistory()
  })
  const { counts } = world
  time.print.addText(ending.verdict + ending.law)
  for (const count of Object.values(counts)) time.print.add(count)
  const { seed } = world.options
  return {
    ...ending,
    seed,
    hash: time.print.text(),
    time: time.now,
    events: time.events,
    counts,
    faults,
    trace,
  }
}

/** Runs `what`. An error outside of an event ends the run too. */
export async function attempt({ time }: World, what: () => Promise<void>): Promise<Ending> {
  const stray = (error: unknown) => time.fail(error)
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

/** In µs. Without faults, all members know their cluster within this time. */
const LONGEST_FOUNDING = 60_000_000

/**
 * The faults begin after the cluster is founded, because new members vote only after they have connected to
 * each other (M13).
 */
export async function found(world: World): Promise<void> {
  const isFounded = () => world.members.every(({ clusterId }) => clusterId !== '')
  world.start()
  await world.run(LONGEST_FOUNDING, isFounded)
  if (!isFounded()) throw new NoProgress('founding', `no cluster after ${LONGEST_FOUNDING / 1e6} s`)
}
