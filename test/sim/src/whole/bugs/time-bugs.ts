// Rule: known bugs of cluster time, and of what a holder computes from it.

import type { Instant } from '@latchkey/base'
import type { Answer, OwnerResult } from '@latchkey/protocol'
import { inClusterTime, inReplication } from '../../bugs/core-exports.js'
import { STAMP_OF_LAST_TICK, TIME_OF_LAST_ENTRY } from '../../bugs/read-bugs.js'
import { like } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import { inActiveLink, inClock, inLinkReports, inNode, inTimeBound } from './product-exports.js'

const LEARN = inTimeBound(
  'ClusterTimeBound',
  (Real) =>
    class extends Real {
      override learn(time: number, _: Instant, now: Instant) {
        super.learn(time, now, now)
      }
    },
)
/** Slow answers, and clocks that differ as much as the drift allows. */
const LATE = { netBase: 2_000, netTail: 60_000, clocks: 'extreme', faults: 2, locks: 1 } as const

/** True while the cluster clock is read for an entry. */
let isForEntry = false

/** The owner in the answer to a request for a lock. */
function ownerIn([ok, result]: Answer): OwnerResult | undefined {
  const [owner] = ok === 0 && Array.isArray(result) ? (result as unknown[]) : []
  return Array.isArray(owner) && owner.length === 8 ? (owner as unknown as OwnerResult) : undefined
}

export const timeBugs: readonly WholeBug[] = [
  {
    name: 'a holder counts its lease from the answer',
    ids: ['K4'],
    changes: [LEARN],
    workload: 'deadline',
    seeds: 300,
    options: LATE,
  },
  {
    name: 'a holder computes its time bound from a stored answer',
    ids: ['K5'],
    changes: [
      inActiveLink(
        'ActiveLink',
        (Real) =>
          class extends Real {
            override received(...args: Parameters<InstanceType<typeof Real>['received']>) {
              const answer = super.received(...args)
              const owner = ownerIn(answer)
              // A stored answer has no time.
              if (args[2].time === 0 && owner !== undefined)
                this.bound.learn(owner[7], this.now(), this.now())
              return answer
            }
          },
      ),
    ],
    workload: 'deadline',
    seeds: 500,
    options: LATE,
  },
  {
    name: 'the answer to a read has the time of the last applied entry',
    ids: ['K4'],
    changes: [TIME_OF_LAST_ENTRY],
    workload: 'deadline',
    seeds: 300,
    options: LATE,
  },
  {
    name: 'the leader limits elapsed time per entry instead of per reading',
    breaks: 'liveness',
    ids: ['K3'],
    changes: [
      inReplication('appendOwn', (real) => (...args) => {
        isForEntry = true
        try {
          return real(...args)
        } finally {
          isForEntry = false
        }
      }),
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            #time: number
            #reading: number
            readonly #clamp: number
            constructor(last: number, now: number, clamp: number) {
              super(last, now, clamp)
              this.#time = last
              this.#reading = now
              this.#clamp = clamp
            }
            override read(now: number) {
              const time = this.#time + Math.min(Math.max(0, now - this.#reading), this.#clamp)
              if (isForEntry) [this.#time, this.#reading] = [time, Math.max(now, this.#reading)]
              return Math.floor(time)
            }
          },
      ),
    ],
    workload: 'deadline',
    seeds: 50,
  },
  {
    name: 'a new leader starts with a clock reading from before a stall',
    ids: ['K41'],
    changes: [
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            constructor(last: number, now: number, clamp: number) {
              super(last, now - clamp, clamp)
            }
          },
      ),
    ],
    workload: 'deadline',
    seeds: 100,
  },
  {
    name: 'a leader sets a time from a clock reading before a stall',
    ids: ['K41'],
    changes: STAMP_OF_LAST_TICK,
    workload: 'deadline',
    seeds: 100,
  },
  {
    name: 'the elapsed time compares the largest clocks of two moments',
    ids: ['T3'],
    changes: [
      inClock(
        'elapsed',
        () => (from, to) =>
          Math.max(0, Math.max(to.hr, to.up, to.wall) - Math.max(from.hr, from.up, from.wall)),
      ),
    ],
    workload: 'deadline',
    seeds: 300,
    options: { ...LATE, lease: [1_000, 3_000] },
  },
  {
    name: 'the leader measures cluster time with its wall clock',
    ids: ['K1', 'K3'],
    changes: [
      inNode(
        'RaftNode',
        (Real) =>
          class extends Real {
            constructor(...[options, ports, boot]: ConstructorParameters<typeof Real>) {
              const { clock } = ports
              const wall = {
                now: () => clock.instant().wall,
                instant: () => clock.instant(),
                after: clock.after.bind(clock),
              }
              super(options, { ...ports, clock: wall }, boot)
            }
          },
      ),
    ],
    workload: 'deadline',
    seeds: 200,
  },
  {
    name: 'a holder computes its time bound from a push',
    ids: ['K4'],
    changes: [
      inLinkReports(
        'LinkReports',
        (Real) =>
          class extends Real {
            constructor(...[to]: ConstructorParameters<typeof Real>) {
              const granted: typeof to.grants.granted = (key, owner) => {
                to.bound.learn(owner[7], to.activeLink.now(), to.activeLink.now())
                to.grants.granted(key, owner)
              }
              super({ ...to, grants: like(to.grants, { granted }) })
            }
          },
      ),
    ],
    workload: 'waiters',
    seeds: 500,
    options: LATE,
  },
]
