// Rule: shows a configuration as one line of text.

import type { Membership } from '@latchkey/raft/core'

export const membershipText = ({ voters, outgoing, learners, learnersNext }: Membership): string =>
  `{${voters}${outgoing.length > 0 ? ` & ${outgoing}` : ''}${learners.length > 0 ? ` learners ${learners}` : ''}${
    learnersNext.length > 0 ? ` next ${learnersNext}` : ''
  }}`
