// Driver: a leader that leaves gives the lead away first, so that nobody has to notice its absence.

import type { Clock } from '@latchkey/base'
import type { RaftNode } from './node.js'

/** Resolves true once another member leads; false when nobody took over in time, or there is nobody. */
export function handOver(node: RaftNode, clock: Clock, timeout: number, to?: string): Promise<boolean> {
  if (node.role !== 'leader') return Promise.resolve(true)
  const { voters, outgoing } = node.raft.membership
  if (voters.length + outgoing.length < 2) return Promise.resolve(false)
  return new Promise((resolve) => {
    const end = (moved: boolean) => {
      timer.cancel()
      off()
      resolve(moved)
    }
    const timer = clock.after(timeout, () => end(false))
    const off = node.on('role', ({ role, leader }) => {
      if (role !== 'leader' && leader !== undefined && leader !== node.options.id) end(true)
    })
    node.transfer(to)
  })
}
