// Driver: carries out the faults of a run at their times, and repairs what they broke.

import type { Cuts, Host } from '@latchkey/raft/memory'
import type { NumberedFault } from '../run/run-seed.js'
import type { World } from './world.js'

export interface TimedFault extends NumberedFault {
  /** Microseconds from the moment at which the faults begin. */
  readonly at: number
}

export type Undo = (repair: () => void) => void

export abstract class Nemesis<Fault extends TimedFault> {
  readonly #world: World
  readonly #repairs = new Set<() => void>()
  #over = false

  constructor(world: World) {
    this.#world = world
  }

  schedule(faults: readonly Fault[]): void {
    const { time } = this.#world
    for (const fault of faults)
      time.later(fault.at, () => {
        if (this.#over) return
        this.#world.note(() => `--- fault ${JSON.stringify(fault)}`)
        time.print.add(fault.number)
        this.changes()
        this.strike(fault)
      })
  }

  protected abstract strike(fault: Fault): void

  /** Called before something is broken or repaired. */
  protected changes(): void {}

  /** Runs a later part of a fault, unless the faults are over. */
  protected later(micros: number, run: () => void): void {
    const once = () => {
      if (!this.#repairs.delete(once)) return
      this.changes()
      run()
    }
    this.#repairs.add(once)
    this.#world.time.later(micros, once)
  }

  protected undoAfter(micros: number): Undo {
    return (repair) => this.later(micros, repair)
  }

  /** After this call no fault happens. What is broken stays broken. */
  end(): void {
    this.#over = true
    this.#repairs.clear()
  }

  repairAll(): void {
    for (const repair of [...this.#repairs]) repair()
  }
}

/** The first machine no longer reaches the second. */
type Pair = readonly [from: Host, to: Host]

export const bothWays = (one: Host, others: readonly Host[]): readonly Pair[] =>
  others
    .filter((other) => other !== one)
    .flatMap((other): Pair[] => [
      [one, other],
      [other, one],
    ])

/** The returned function repairs the cut. */
export function cut(cuts: Cuts, pairs: readonly Pair[], undo: Undo): () => void {
  for (const [from, to] of pairs) cuts.cut(from.index, to.index)
  let isCut = true
  const repair = () => {
    if (!isCut) return
    isCut = false
    for (const [from, to] of pairs) cuts.mend(from.index, to.index)
  }
  undo(repair)
  return repair
}

/** Stops the process, or the whole machine with its monotonic clock. */
export function stop(host: Host, suspend: boolean, undo: Undo): void {
  host.stop(suspend)
  undo(() => host.resume(suspend))
}

export function slowDisk(member: { slowness: number }, factor: number, undo: Undo): void {
  member.slowness = factor
  undo(() => {
    member.slowness = 1
  })
}
