// Rule: laws of latches and barriers, as those see who see all calls of all clients.
//
// - M-pass: when a call passes a barrier in a generation, so many calls as the barrier has parties are, or
//   may be, in that generation: they have begun, and did not end otherwise. No two of a generation have one
//   index (K73).
// - M-one: a generation that is broken for one passes for nobody, and a latch that opened for one was removed
//   for nobody who waited (K71).
// - M-count: a latch opens only when enough was counted, and each countDown counts once: what is left is
//   never less than the calls that have begun allow, and never more than those leave that were answered
//   before (K70).
// - M-session: each party that waits belongs to a session that is open (K72).
// - M-calm: on a calm world every wait comes to its end (run.ts).

import type { HostProcess } from '@latchkey/raft/memory'
import { LawBroken } from '../../laws/verdict.js'

interface Enter {
  readonly life: HostProcess
  state: 'pending' | 'unknown' | 'out' | 'passed'
  generation: number
  index: number
}

interface Latch {
  created: 'no' | 'maybe' | 'yes'
  removing: boolean
  /** What the calls that have begun count, and those that were answered. */
  begun: number
  answered: number
  opened: boolean
  removedFor: boolean
}

export class BarriersAndLatches {
  readonly parties: number
  readonly count: number
  readonly #enters = new Set<Enter>()
  readonly #broken = new Set<number>()
  readonly #latches = new Map<string, Latch>()
  readonly #waits = new Set<{ readonly life: HostProcess }>()
  /** The latch that all use now has that number; each name is used for one latch only. */
  round = 0

  constructor(parties: number, count: number) {
    this.parties = parties
    this.count = count
  }

  /** Calls of living processes that still wait. */
  get pending(): number {
    const enters = [...this.#enters].filter(({ state, life }) => state === 'pending' && !life.dead)
    return enters.length + [...this.#waits].filter(({ life }) => !life.dead).length
  }

  get latchNames(): readonly string[] {
    return [...this.#latches.keys()]
  }

  // ---- barriers

  enters(life: HostProcess): Enter {
    const call: Enter = { life, state: 'pending', generation: 0, index: 0 }
    this.#enters.add(call)
    return call
  }

  passed(call: Enter, generation: number, index: number): void {
    Object.assign(call, { state: 'passed', generation, index })
    if (this.#broken.has(generation))
      throw new LawBroken(
        'one end for all',
        `generation ${generation} is broken for one, and passes for another`,
      )
    const others = [...this.#enters].filter((one) => one !== call)
    const same = others.filter((one) => one.state === 'passed' && one.generation === generation)
    if (index >= this.parties || same.some((one) => one.index === index))
      throw new LawBroken(
        'one index each',
        `index ${index} of generation ${generation} is given twice, or too high`,
      )
    const maybe = others.filter(({ state }) => state === 'pending' || state === 'unknown')
    if (1 + same.length + maybe.length < this.parties)
      throw new LawBroken(
        'all are in',
        `a call passed generation ${generation}, and at most ${1 + same.length + maybe.length} of ${this.parties} can be in`,
      )
  }

  /** `mayHavePassed`: nobody knows. */
  left(call: Enter, mayHavePassed: boolean): void {
    call.state = mayHavePassed ? 'unknown' : 'out'
  }

  /** generation undefined: not told. */
  broken(call: Enter, generation: number | undefined): void {
    call.state = 'out'
    if (generation === undefined) return
    this.#broken.add(generation)
    if ([...this.#enters].some((one) => one.state === 'passed' && one.generation === generation))
      throw new LawBroken(
        'one end for all',
        `generation ${generation} passed for one, and is broken for another`,
      )
  }

  // ---- latches

  latch(name: string): Latch {
    const known = this.#latches.get(name)
    if (known !== undefined) return known
    const made: Latch = {
      created: 'no',
      removing: false,
      begun: 0,
      answered: 0,
      opened: false,
      removedFor: false,
    }
    this.#latches.set(name, made)
    return made
  }

  waits(life: HostProcess): () => void {
    const call = { life }
    this.#waits.add(call)
    return () => this.#waits.delete(call)
  }

  opened(name: string): void {
    const latch = this.latch(name)
    latch.opened = true
    if (latch.begun < this.count)
      throw new LawBroken(
        'enough was counted',
        `${name} is open, and at most ${latch.begun} of ${this.count} were counted`,
      )
    this.#oneEnd(name, latch)
  }

  removedFor(name: string): void {
    const latch = this.latch(name)
    latch.removedFor = true
    if (!latch.removing)
      throw new LawBroken('enough was counted', `${name} is removed, and nobody asked for it`)
    this.#oneEnd(name, latch)
  }

  #oneEnd(name: string, { opened, removedFor }: Latch): void {
    if (opened && removedFor)
      throw new LawBroken('one end for all', `${name} opened for one, and was removed for another who waited`)
  }

  /** `answered`: what was answered before the call began. */
  counted(name: string, left: number, answered: number): void {
    const latch = this.latch(name)
    const [least, most] = [Math.max(0, this.count - latch.begun), Math.max(0, this.count - answered - 1)]
    if (left < least || left > most)
      throw new LawBroken('counted once', `${name} has ${left} left; it should be from ${least} to ${most}`)
    if (left === 0) this.opened(name)
  }

  /** A call found no such latch. `created`: whether it surely was there before the call began. */
  absent(name: string, created: boolean): void {
    if (created && !this.latch(name).removing)
      throw new LawBroken('enough was counted', `${name} is gone, and nobody removed it`)
  }
}
