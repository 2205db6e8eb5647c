// Rule: quorums. A majority of n voters is more than half of n. A joint configuration needs a majority of
// both halves (M4). Learners are in neither half, so they never count (M9).

import type { MemberId, Membership } from './types.js'

export type Tally = 'won' | 'lost' | 'open'
type Halves = Pick<Membership, 'voters' | 'outgoing'>

export const majority = (size: number): number => (size >>> 1) + 1

/**
 * Each call uses this array again for sorting, so that no call allocates an array. No call keeps the array.
 */
const scratch: number[] = []

/** The largest value that a majority of `voters` has reached. It is 0 if there are no voters. */
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
 * The largest value that a quorum has reached. In a joint configuration a majority of both halves must
 * have reached it.
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

/** The result 'lost' means that no answers of the missing voters can give the candidate a quorum any more. */
export function tally(halves: Halves, votes: ReadonlyMap<MemberId, boolean>): Tally {
  if (isQuorum(halves, (id) => votes.get(id) === true)) return 'won'
  return isQuorum(halves, (id) => votes.get(id) !== false) ? 'open' : 'lost'
}

/** Draws a quorum as text for test output: each voter has a line, whose length shows the voter's value. */
export function describeQuorum(halves: Halves, valueOf: (id: MemberId) => number): string {
  const lines: string[] = []
  const half = (name: string, voters: readonly MemberId[]) => {
    if (voters.length === 0) return
    lines.push(`${name}: ${majorityValue(voters, valueOf)} by ${majority(voters.length)} of ${voters.length}`)
    for (const id of voters) lines.push(`  ${id} ${'='.repeat(Math.min(valueOf(id), 60))}> ${valueOf(id)}`)
  }
  half('voters', halves.voters)
  half('outgoing', halves.outgoing)
  lines.push(`quorum: ${quorumValue(halves, valueOf)}`)
  return lines.join('\n')
}
