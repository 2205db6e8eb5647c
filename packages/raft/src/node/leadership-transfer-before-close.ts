// Driver: transfers the leadership before a leader closes, so that the other members need not wait for an
// election timeout.
//
// Laws
//   - the transfer ends after `timeout` at the latest. The transfer ends earlier if no member can become
//     leader or this member does not lead any more.
//   - if the caller names a target, the transfer to this target is tried once, because writes wait during
//     each try. If the caller names no target, one member after another is tried until `timeout`.
//   - a target that was asked to campaign may win its election after the timeout. Then the result is
//     'unknown'.

import type { Clock, Timer } from '@latchkey/base'
import type { RaftNode } from './node.js'

/**
 * In ms, the interval at which this file checks whether the core has given up the present target. The core
 * gives up a target after an election timeout.
 */
const LOOK_MS = 10

/**
 * - 'moved': the member that the caller named leads now, or another member if the caller named none.
 * - 'stayed': this member still leads, and no member was asked to campaign.
 * - 'unknown': a member that was asked to campaign may still become leader, or this member does not lead any
 *   more and has not learned that the named member leads.
 */
export type HandOver = 'moved' | 'stayed' | 'unknown'

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
  const isTarget = (id: string) => id !== self && (to === undefined || id === to) && reachable(id)
  let tries = to === undefined ? Number.POSITIVE_INFINITY : 1
  return new Promise((resolve) => {
    let looking: Timer | undefined
    const end = (outcome: HandOver) => {
      timer.cancel()
      looking?.cancel()
      off()
      resolve(outcome)
    }
    const giveUp = () => end(node.role === 'leader' && !node.raft.targetAsked ? 'stayed' : 'unknown')
    const look = () => {
      if (node.failure !== undefined) return giveUp()
      if (node.role === 'leader') {
        if (!node.raft.membership.voters.some(isTarget)) return giveUp()
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
