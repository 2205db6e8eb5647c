// Rule: cluster time (docs/locks.md, section 1). Along the log it never goes back (CT1), and for entries x
// before y of the final log y.time - x.time <= (1 + drift) * (real time between their stampings). An answer's
// L bounds it from the sending on (CT5).
//
// The real time of a stamping is that of the clock reading the leader used. A monotonic clock is promised not
// to step; where the simulator steps one all the same, each step may cost at most the clamp (CT2).

import type { Entry, MemberId } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'cluster-time'

export interface TimeBounds {
  /** The fastest any clock of this run goes, over real time. */
  readonly fastest: number
  /** CT2: what one reading may add at most. */
  readonly clamp: number
  /** How many steps forward any clock took up to this real time, µs. */
  readonly steps: (until: number) => number
}

interface Stamp {
  readonly at: number
  /** The least "entry time minus allowed growth" that an answer had proven at that moment. */
  readonly bound: number
}

/** Whole milliseconds: each of two stamps is rounded down. */
const ROUNDING = 1.001

export const clusterTime =
  (bounds: TimeBounds): MakeLaw =>
  (cluster) => {
    const judge = new Judge(bounds)
    let judged = 0
    return {
      name,
      persisting(member, batch, stampedAt) {
        let previous = batch.restartAfter?.position.time ?? timeBefore(member.live, batch.entries[0])
        for (const entry of batch.entries) {
          inOrder(member.id, entry, previous)
          previous = entry.time
          if (member.role === 'leader') judge.stamped(entry, stampedAt)
        }
      },
      decided() {
        for (; judged < cluster.commitTop; judged++) {
          const entry = cluster.committed[judged + 1]
          if (entry !== undefined) judge.committed(entry)
        }
      },
      served: (read) => judge.promised(read.time, read.sentAt),
    }
  }

function inOrder(member: MemberId, entry: Entry, previous: number): void {
  if (!Number.isSafeInteger(entry.time)) {
    throw new LawBroken(name, `${member}: the time ${entry.time} of entry ${entry.index} is not whole`)
  }
  if (entry.time < previous) {
    throw new LawBroken(name, `${member}: time goes back from ${previous} to ${entry.time} at ${entry.index}`)
  }
}

/** Compares entries of the final log with real time: "entry time less what may have passed" never grows. */
class Judge {
  readonly #bounds: TimeBounds
  readonly #stamps = new Map<Entry, Stamp>()
  /** The least so far, of an entry of the final log. */
  #least = Number.POSITIVE_INFINITY
  #leastEntry: Entry | undefined
  /** The least so far, of an answer. */
  #proven = Number.POSITIVE_INFINITY

  constructor(bounds: TimeBounds) {
    this.#bounds = bounds
  }

  stamped(entry: Entry, at: number): void {
    this.#stamps.set(entry, { at, bound: this.#proven })
  }

  /** From the sending on cluster time is at most `time` and what may pass since. */
  promised(time: number, sentAt: number): void {
    this.#proven = Math.min(this.#proven, time - this.#reach(sentAt))
  }

  committed(entry: Entry): void {
    const stamp = this.#stamps.get(entry)
    if (stamp === undefined) return
    const growth = entry.time - this.#reach(stamp.at)
    if (growth > this.#least + ROUNDING) this.#ahead(entry, growth)
    if (growth > stamp.bound + ROUNDING) {
      const beyond = (growth - stamp.bound).toFixed(3)
      throw new LawBroken(
        name,
        `entry ${entry.index} (time ${entry.time}) is ${beyond} ms beyond what an answer had promised (CT5)`,
      )
    }
    if (growth >= this.#least) return
    this.#least = growth
    this.#leastEntry = entry
  }

  #ahead(entry: Entry, growth: number): never {
    const { index, time } = this.#leastEntry ?? entry
    throw new LawBroken(
      name,
      `entry ${entry.index} (time ${entry.time}) runs ${(growth - this.#least).toFixed(3)} ms ahead of entry ${index} (time ${time}) by real time`,
    )
  }

  /** How far the clocks of all leaders can have come at a real time. */
  #reach(at: number): number {
    return (at / 1000) * this.#bounds.fastest + this.#bounds.steps(at) * this.#bounds.clamp
  }
}

function timeBefore(
  log: { entry(index: number): Entry | undefined; base: { index: number; time: number } },
  first: Entry | undefined,
): number {
  if (first === undefined) return 0
  if (first.index - 1 === log.base.index) return log.base.time
  return log.entry(first.index - 1)?.time ?? 0
}
