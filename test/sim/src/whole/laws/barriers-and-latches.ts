// Rule: laws of latches and barriers, which an observer of all calls of all clients checks.
//
// - M-pass: If a call passes a barrier in a generation, enough calls for this generation have begun, and have
//   not ended in another way. No two calls of a generation have the same index (K73).
// - M-one: If a generation is broken for one call, no call passes in this generation. If a latch opened for
//   one waiter, it was removed for no waiter (K71).
// - M-count: A latch opens only after enough calls of countDown, and each call counts once. The remaining
//   count is never less than the begun calls allow, and never more than the answered calls leave (K70).
// - M-session: Each waiting call belongs to an open session (K72).
// - M-calm: When all faults have stopped, every wait ends (run.ts).

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
  /** `begun` is the sum of the counts of all begun calls, and `answered` of the answered calls. */
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
  /** The number of the present latch. Each name is used for one latch. */
  round = 0

  constructor(parties: number, count: number) {
    this.parties = parties
    this.count = count
  }

  /** How many calls of living processes wait. */
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

  /** `mayHavePassed` is true if the caller does not know whether it passed. */
  left(call: Enter, mayHavePassed: boolean): void {
    call.state = mayHavePassed ? 'unknown' : 'out'
  }

  /** `generation` is undefined if the error did not name it. */
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

  /** `answered` is the sum of the counts of all calls that were answered before this call began. */
  counted(name: string, left: number, answered: number): void {
    const latch = this.latch(name)
    const [least, most] = [Math.max(0, this.count - latch.begun), Math.max(0, this.count - answered - 1)]
    if (left < least || left > most)
      throw new LawBroken('counted once', `${name} has ${left} left; it should be from ${least} to ${most}`)
    if (left === 0) this.opened(name)
  }

  /** A call found no latch with this name. `created` is true if the latch existed before the call began. */
  absent(name: string, created: boolean): void {
    if (created && !this.latch(name).removing)
      throw new LawBroken('enough was counted', `${name} is gone, and nobody removed it`)
  }
}
