// Rule: leader append-only. A member that leads never removes or replaces an entry of its own log.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'leader-append-only'

export const leaderAppendOnly: MakeLaw = () => ({
  name,
  persisting(member, batch) {
    if (member.role !== 'leader') return
    if (batch.truncateFrom !== undefined || batch.restartAfter !== undefined) {
      throw new LawBroken(name, `${member.id} leads term ${member.term} and cuts its log`)
    }
  },
})
