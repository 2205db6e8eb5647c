// Rule: cluster time (LOCKS.md, section 1). Along the log it never goes back (CT1), and for entries x before y of the final log
// y.time - x.time <= (1 + drift) * (real time between their stampings). An answer's L bounds it from the sending on (CT5).
//
// The real time of a stamping is that of the clock reading the leader used. A monotonic clock is promised not to step; where the
// simulator steps one all the same, each step may cost at most the clamp (CT2).

import type { Entry } from '@latchkey/raft/core'
import { LawBroken, type MakeLaw } from './law.js'

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
  (ledger) => {
    const stamps = new Map<Entry, Stamp>()
    /** How far the clocks of all leaders can have come at a real time. */
    const reach = (at: number) => (at / 1000) * bounds.fastest + bounds.steps(at) * bounds.clamp
    let least = Number.POSITIVE_INFINITY
    let leastEntry: Entry | undefined
    let proven = Number.POSITIVE_INFINITY
    let judged = 0

    const judge = (entry: Entry) => {
      const stamp = stamps.get(entry)
      if (stamp === undefined) return
      const growth = entry.time - reach(stamp.at)
      if (growth > least + ROUNDING) {
        const ahead = (growth - least).toFixed(3)
        throw new LawBroken(
          name,
          `entry ${entry.index} (time ${entry.time}) runs ${ahead} ms ahead of entry ${leastEntry?.index} (time ${leastEntry?.time}) by real time`,
        )
      }
      if (growth > stamp.bound + ROUNDING) {
        throw new LawBroken(
          name,
          `entry ${entry.index} (time ${entry.time}) is ${(growth - stamp.bound).toFixed(3)} ms beyond what an answer had promised (CT5)`,
        )
      }
      if (growth < least) {
        least = growth
        leastEntry = entry
      }
    }

    return {
      name,
      persisting(member, batch, stampedAt) {
        let previous = batch.restartAfter?.position.time ?? timeBefore(member.live, batch.entries[0])
        for (const entry of batch.entries) {
          if (!Number.isSafeInteger(entry.time)) {
            throw new LawBroken(
              name,
              `${member.id}: the time ${entry.time} of entry ${entry.index} is not whole`,
            )
          }
          if (entry.time < previous) {
            throw new LawBroken(
              name,
              `${member.id}: time goes back from ${previous} to ${entry.time} at ${entry.index}`,
            )
          }
          previous = entry.time
          if (member.role === 'leader') stamps.set(entry, { at: stampedAt, bound: proven })
        }
      },
      decided() {
        for (; judged < ledger.commitTop; judged++) {
          const entry = ledger.committed[judged + 1]
          if (entry !== undefined) judge(entry)
        }
      },
      served(read) {
        // From the sending on cluster time is at most time + (what may pass since).
        proven = Math.min(proven, read.time - reach(read.sentAt))
      },
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
