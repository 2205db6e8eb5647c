// Rule: cluster time (docs/locks.md, section 1). An entry never has a smaller time than the entry before
// (CT1). For entries x before y of the final log, y.time - x.time is at most (1 + drift) times the real time
// between the two clock readings of the leaders. After an answer with the time L, cluster time is at most L
// plus the allowed growth since the request was sent (CT5).
//
// A monotonic clock must not step. If the simulator steps a clock nevertheless, each step may add at most the
// clamp (CT2).

import type { Entry, MemberId } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'cluster-time'

export interface TimeBounds {
  /** The rate of the fastest clock, relative to real time. */
  readonly fastest: number
  /** In ms. One reading of the clock may add at most this much (CT2). */
  readonly clamp: number
  /** Returns how many forward steps all clocks have made until a real time, in µs. */
  readonly steps: (until: number) => number
}

interface Stamp {
  readonly at: number
  /** The smallest value of "entry time minus allowed growth" that answers had proved at that moment. */
  readonly bound: number
}

/**
 * In ms. The times of two entries are whole milliseconds, rounded down. Their difference can be wrong by one
 * millisecond.
 */
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

/** The value "entry time minus allowed growth" must never grow in the final log. */
class Judge {
  readonly #bounds: TimeBounds
  readonly #stamps = new Map<Entry, Stamp>()
  /** The smallest value of the entries so far. */
  #least = Number.POSITIVE_INFINITY
  #leastEntry: Entry | undefined
  /** The smallest value of the answers so far. */
  #proven = Number.POSITIVE_INFINITY

  constructor(bounds: TimeBounds) {
    this.#bounds = bounds
  }

  stamped(entry: Entry, at: number): void {
    this.#stamps.set(entry, { at, bound: this.#proven })
  }

  /** After `sentAt`, cluster time is at most `time` plus the allowed growth. */
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

  /** Returns the largest possible cluster time at a real time in µs. */
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
