// Driver: runs one seed to its verdict: first the faults with the laws, then a world without faults, which must
// make progress.

import { type Ending, endingOf, NoProgress, PASS } from '../laws/verdict.js'
import type { World } from '../world/world.js'

/** What the command line needs of a fault. */
export interface NumberedFault {
  /** Its place in the seed's whole list, for `--only`. */
  readonly number: number
  readonly kind: string
}

export interface RunResult<Fault = NumberedFault> extends Ending {
  readonly seed: number
  /** Two runs with equal hashes were equal to the byte. */
  readonly hash: string
  /** Microseconds of virtual time. */
  readonly time: number
  readonly events: number
  /** What happened in the run, by name, for the summary. */
  readonly counts: Readonly<Record<string, number>>
  readonly faults: readonly Fault[]
  readonly trace: readonly string[]
}

/** The parts of a run that differ between the profiles. */
interface Phases<Fault> {
  /** The cluster is founded. */
  readonly startFaults: (faults: readonly Fault[]) => void
  readonly endFaults: () => void
  /** Demands progress of the world, in which no fault happens any more. */
  readonly demandProgress: () => Promise<void>
  /** Judges what the clients saw in the whole run. */
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

/** An error that is thrown outside of an event ends the run too. */
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

/** Microseconds within which all members of a world without faults know their cluster. */
const LONGEST_FOUNDING = 60_000_000

/** Fresh members wait for each other before they vote (M13), so faults come once the cluster is founded. */
export async function found(world: World): Promise<void> {
  const isFounded = () => world.members.every(({ clusterId }) => clusterId !== '')
  world.start()
  await world.run(LONGEST_FOUNDING, isFounded)
  if (!isFounded()) throw new NoProgress('founding', `no cluster after ${LONGEST_FOUNDING / 1e6} s`)
}
