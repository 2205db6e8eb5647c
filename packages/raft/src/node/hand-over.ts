// Driver: a leader that leaves gives the lead away first, so that nobody has to notice its absence.
//
// Laws
//   - it ends, at the latest after `timeout`; at once when there is nobody to give the lead to, or nothing left to give
//   - writes wait while it is tried, so a heir that was named is tried once; where any will do, another one after it
//   - who was told to take over may do so after the time is over: then nobody can say that it stayed

import type { Clock, Timer } from '@latchkey/base'
import type { RaftNode } from './node.js'

/** A heir that does not take over is given up by the core after an election timeout; then another one is asked. */
const LOOK_MS = 10

/** stayed: nobody took over, and nobody will because of this. unknown: not in time, or not the one that was named. */
export type HandOver = 'moved' | 'stayed' | 'unknown'

/** 'moved' once another member leads: the one that was named, if one was. */
export function handOver(
  node: RaftNode,
  clock: Clock,
  timeout: number,
  reachable: (id: string) => boolean,
  to?: string,
): Promise<HandOver> {
  if (node.failure !== undefined) return Promise.resolve('stayed')
  if (node.role !== 'leader') return Promise.resolve(isTo(node.raft.leader, to) ? 'moved' : 'unknown')
  const self = node.options.id
  const isHeir = (id: string) => id !== self && (to === undefined || id === to) && reachable(id)
  let tries = to === undefined ? Number.POSITIVE_INFINITY : 1
  return new Promise((resolve) => {
    let looking: Timer | undefined
    const end = (outcome: HandOver) => {
      timer.cancel()
      looking?.cancel()
      off()
      resolve(outcome)
    }
    const giveUp = () => end(node.role === 'leader' && !node.raft.toldHeir ? 'stayed' : 'unknown')
    const look = () => {
      if (node.failure !== undefined) return giveUp()
      if (node.role === 'leader') {
        if (!node.raft.membership.voters.some(isHeir)) return giveUp()
        if (!node.raft.transferring && tries-- > 0) node.transfer(to)
        if (!node.raft.transferring && node.role === 'leader') return giveUp()
      }
      looking = clock.after(LOOK_MS, look)
    }
    const timer = clock.after(timeout, giveUp)
    const off = node.on('role', ({ role, leader }) => {
      if (role !== 'leader' && leader !== undefined && leader !== self)
        end(isTo(leader, to) ? 'moved' : 'unknown')
    })
    look()
  })
}

const isTo = (leader: string | undefined, to: string | undefined) => to === undefined || leader === to
