// Rule: the pieces of a snapshot reach the state machine in order and without a gap (S4).

import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'snapshot-pieces'

export const snapshotPieces: MakeLaw = () => {
  /** How many bytes of the snapshot the state machine of each member has received. */
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
