// Rule: the leader says only of entries that the disks of all members have them that they do (L23).

import { membersOf } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'stored-by-all'

export const storedByAll: MakeLaw = (cluster) => ({
  name,
  sending(leader, message) {
    if (message.type !== 'storedByAll') return
    const { index } = message
    const term = leader.live.termAt(index) ?? cluster.committed[index]?.term
    for (const id of membersOf(leader.live.membership)) {
      if (term !== undefined && cluster.keeps(cluster.member(id), index, term)) continue
      throw new LawBroken(name, `${leader.id} says that all members have entry ${index}; ${id} has not`)
    }
  },
})
