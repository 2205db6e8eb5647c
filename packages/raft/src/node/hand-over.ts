// Driver: a leader that leaves gives the lead away first, so that nobody has to notice its absence.
//
// Laws
//   - it ends, at the latest after `timeout`; at once when there is nobody to give the lead to, or nothing left to give
//   - writes wait while it is tried, so a heir that was named is tried once; where any will do, another one after it

import type { Clock, Timer } from '@latchkey/base'
import type { RaftNode } from './node.js'

/** A heir that does not take over is given up by the core after an election timeout; then another one is asked. */
const LOOK_MS = 10

/** Resolves true once another member leads; false when nobody took over in time, or there is nobody. */
export function handOver(
  node: RaftNode,
  clock: Clock,
  timeout: number,
  reachable: (id: string) => boolean,
  to?: string,
): Promise<boolean> {
  if (node.failure !== undefined) return Promise.resolve(false)
  if (node.role !== 'leader') return Promise.resolve(true)
  const self = node.options.id
  const isHeir = (id: string) => id !== self && (to === undefined || id === to) && reachable(id)
  let tries = to === undefined ? Number.POSITIVE_INFINITY : 1
  return new Promise((resolve) => {
    let looking: Timer | undefined
    const end = (moved: boolean) => {
      timer.cancel()
      looking?.cancel()
      off()
      resolve(moved)
    }
    const look = () => {
      if (node.failure !== undefined) return end(false)
      if (node.role === 'leader') {
        if (!node.raft.membership.voters.some(isHeir)) return end(false)
        if (!node.raft.transferring && tries-- > 0) node.transfer(to)
        if (!node.raft.transferring && node.role === 'leader') return end(false)
      }
      looking = clock.after(LOOK_MS, look)
    }
    const timer = clock.after(timeout, () => end(false))
    const off = node.on('role', ({ role, leader }) => {
      if (role !== 'leader' && leader !== undefined && leader !== self) end(true)
    })
    look()
  })
}
