// Driver: a leader that closes transfers its leadership first, so that the others need not wait for an
// election timeout.
//
// Laws
//   - the transfer ends after `timeout` at the latest. It ends at once if no member can take over or this
//     member does not lead any more
//   - writes wait during a transfer, so a named target is tried once. Without a named target a second
//     member is tried too
//   - a target that was asked to campaign may still take over after the timeout. Then the result is
//     'unknown', not 'stayed'

import type { Clock, Timer } from '@latchkey/base'
import type { RaftNode } from './node.js'

/**
 * In ms, the interval at which this file checks whether the transfer has succeeded. The core gives up a
 * target after an election timeout. Then another target is asked.
 */
const LOOK_MS = 10

/**
 * 'moved': another member leads. 'stayed': no member took over, and this call will not make a member take
 * over later. 'unknown': no member took over within the timeout. If a target was named, 'unknown' can also
 * mean that another member took over.
 */
export type HandOver = 'moved' | 'stayed' | 'unknown'

/**
 * Resolves to 'moved' once another member leads. If a target was named, the new leader must be that member.
 */
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
