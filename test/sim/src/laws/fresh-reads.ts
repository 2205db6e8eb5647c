// Rule: a read reflects every write that was acknowledged before the read was sent.

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'fresh-reads'

export const freshReads: MakeLaw = (cluster) => ({
  name,
  served(read) {
    if (read.index < read.floor) {
      throw new LawBroken(
        name,
        `${read.member} answers a read at ${read.index}; ${read.floor} had been acknowledged before it was sent`,
      )
    }
    if (read.index > cluster.commitTop) {
      throw new LawBroken(name, `${read.member} answers a read at ${read.index}, which is not committed`)
    }
  },
})
