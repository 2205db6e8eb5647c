// Rule: the pieces of a snapshot are handed over in their order, without a gap (S4).

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'snapshot-pieces'

export const snapshotPieces: MakeLaw = () => {
  /** By member: how many bytes of the snapshot under way were handed over. */
  const sizes = new Map<string, number>()
  return {
    name,
    booted: (member) => void sizes.delete(member.id),
    staged(member, { offset, chunk }) {
      const size = offset === 0 ? 0 : sizes.get(member.id)
      if (size !== offset)
        throw new LawBroken(name, `${member.id} hands over the piece at ${offset}, after ${size ?? 0} bytes`)
      sizes.set(member.id, offset + chunk.length)
    },
  }
}
