// Rule: majorities and quorums. A quorum of a joint configuration is a majority of the new voters and a
// majority of the old voters (M4). Learners never count (M9).

import type { MemberId, Membership } from './types.js'

type Tally = 'won' | 'lost' | 'open'
type Halves = Pick<Membership, 'voters' | 'outgoing'>

export const majority = (size: number): number => (size >>> 1) + 1

const scratch: number[] = []

/** Returns the largest value that a majority of `voters` has reached. Without voters, the result is 0. */
export function majorityValue(voters: readonly MemberId[], valueOf: (id: MemberId) => number): number {
  const size = voters.length
  if (size === 0) return 0
  for (let i = 0; i < size; i++) {
    const value = valueOf(voters[i] as MemberId)
    let at = i
    while (at > 0 && (scratch[at - 1] as number) < value) {
      scratch[at] = scratch[at - 1] as number
      at--
    }
    scratch[at] = value
  }
  return scratch[majority(size) - 1] as number
}

/**
 * Returns the largest value that a quorum has reached. If `valueOf` returns match indexes, the result is the
 * last index that is durable on a quorum.
 */
export function quorumValue({ voters, outgoing }: Halves, valueOf: (id: MemberId) => number): number {
  const value = majorityValue(voters, valueOf)
  return outgoing.length === 0 ? value : Math.min(value, majorityValue(outgoing, valueOf))
}

export function isQuorum({ voters, outgoing }: Halves, agrees: (id: MemberId) => boolean): boolean {
  return hasMajority(voters, agrees) && (outgoing.length === 0 || hasMajority(outgoing, agrees))
}

function hasMajority(voters: readonly MemberId[], agrees: (id: MemberId) => boolean): boolean {
  let count = 0
  for (const id of voters) if (agrees(id)) count++
  return count >= majority(voters.length)
}

/**
 * 'open': the missing votes decide. 'lost': the candidate cannot win any more, even if all missing votes are
 * granted.
 */
export function tally(halves: Halves, votes: ReadonlyMap<MemberId, boolean>): Tally {
  if (isQuorum(halves, (id) => votes.get(id) === true)) return 'won'
  return isQuorum(halves, (id) => votes.get(id) !== false) ? 'open' : 'lost'
}
