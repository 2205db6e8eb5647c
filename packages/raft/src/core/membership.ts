// Rule: memberships: which are valid, how they are encoded, and which one is in force.
//
// Laws
//   - a membership is in force as soon as its entry is appended. If a truncation removes the entry, the
//     membership before it is in force again (M2).
//   - the latest membership in the log is in force. If the log contains none, the membership at the log's
//     start is in force (M14).
//   - equal memberships are encoded as equal bytes.

import { lastOf, elementAt, assert } from '@latchkey/base'
import type { MemberId, Membership, Peer } from './types.js'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const MAX_MEMBERS = 63
const MAX_ID_LENGTH = 128

export const NO_MEMBERS: Membership = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }

export const isJoint = (membership: Membership): boolean => membership.outgoing.length > 0

/** In a joint configuration, old and new voters vote (E16). */
export const isVoter = ({ voters, outgoing }: Membership, id: MemberId): boolean =>
  voters.includes(id) || outgoing.includes(id)

export function isMember(membership: Membership, id: MemberId): boolean {
  return isVoter(membership, id) || membership.learners.includes(id)
}

export function membersOf({ voters, outgoing, learners }: Membership): MemberId[] {
  return sorted([...new Set([...voters, ...outgoing, ...learners])])
}

export function votersBut({ voters, outgoing }: Membership, id: MemberId): MemberId[] {
  const others = [...new Set([...voters, ...outgoing])].filter((voter) => voter !== id)
  return others.sort((a, b) => (a < b ? -1 : 1))
}

export const sorted = (ids: readonly MemberId[]): MemberId[] =>
  [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))

const isId = (value: unknown): value is MemberId =>
  typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_LENGTH

const isPeer = (value: unknown): value is Peer =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Peer).url === 'string' &&
  typeof (value as Peer).incarnation === 'string'

const isIdList = (value: unknown): value is readonly MemberId[] => Array.isArray(value) && value.every(isId)

/** Returns undefined if the membership is valid, or the reason why not (M18). */
export function whyInvalid(membership: Membership): string | undefined {
  const { voters, outgoing, learners, learnersNext, peers } = membership
  for (const list of [voters, outgoing, learners, learnersNext]) {
    if (!isIdList(list)) return 'an id is empty, too long or no text'
    if (new Set(list).size !== list.length) return 'a member is named twice'
    if (list.some((id, i) => i > 0 && elementAt(list, i - 1) > id)) return 'a list is not in order'
  }
  if (voters.length === 0) return 'there would be no voter'
  if (learners.some((id) => isVoter(membership, id))) return 'a learner is a voter too'
  if (learnersNext.some((id) => !outgoing.includes(id) || voters.includes(id))) {
    return 'a voter to become a learner does not leave the old half'
  }
  const ids = membersOf(membership)
  if (ids.length > MAX_MEMBERS) return `more than ${MAX_MEMBERS} members`
  return whyPeersInvalid(ids, peers)
}

function whyPeersInvalid(ids: readonly MemberId[], peers: unknown): string | undefined {
  if (typeof peers !== 'object' || peers === null) return 'the addresses are missing'
  const entries = Object.entries(peers)
  if (entries.length !== ids.length) return 'the addresses are not those of the members'
  for (const [id, peer] of entries) {
    if (!ids.includes(id) || !isPeer(peer)) return `the address of ${id} is not one of a member`
  }
  return undefined
}

/**
 * Encodes the peers as a sorted list. If the peers were an object, the order of its keys could make the bytes
 * of equal memberships differ.
 */
export function encodeMembership(membership: Membership): Uint8Array {
  const { voters, outgoing, learners, learnersNext, peers, cluster } = membership
  const addresses = sorted(Object.keys(peers)).map((id) => [id, peers[id]?.url, peers[id]?.incarnation])
  const fields = [1, voters, outgoing, learners, learnersNext, addresses]
  return encoder.encode(JSON.stringify(cluster === undefined ? fields : [...fields, cluster]))
}

export function decodeMembership(data: Uint8Array): Membership | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(decoder.decode(data))
  } catch {
    return undefined
  }
  if (!Array.isArray(parsed) || parsed.length < 6 || parsed.length > 7 || parsed[0] !== 1) return undefined
  const [, voters, outgoing, learners, learnersNext, addresses, cluster] = parsed as unknown[]
  if (parsed.length === 7 && !isId(cluster)) return undefined
  if (![voters, outgoing, learners, learnersNext].every(isIdList) || !Array.isArray(addresses))
    return undefined
  const peers = new Map<string, Peer>()
  for (const address of addresses as unknown[]) {
    if (!Array.isArray(address) || address.length !== 3 || !isId(address[0])) return undefined
    peers.set(address[0], { url: address[1] as string, incarnation: address[2] as string })
  }
  const membership = {
    voters,
    outgoing,
    learners,
    learnersNext,
    peers: Object.fromEntries(peers),
    ...(cluster === undefined ? {} : { cluster }),
  } as Membership
  return whyInvalid(membership) === undefined ? membership : undefined
}

interface Placed {
  readonly index: number
  readonly membership: Membership
}

/** The memberships of the log, oldest first. The first membership is in force at the log's start. */
export class Configurations {
  #placed: Placed[]

  constructor(startIndex: number, membership: Membership) {
    this.#placed = [{ index: startIndex, membership }]
  }

  get current(): Membership {
    return lastOf(this.#placed).membership
  }

  /** The index of the entry with the membership in force, or the log's start if there is no such entry. */
  get index(): number {
    return lastOf(this.#placed).index
  }

  at(index: number): Membership {
    return (this.#placed.findLast((placed) => placed.index <= index) ?? elementAt(this.#placed, 0)).membership
  }

  append(index: number, membership: Membership): void {
    assert(index > this.index, 'a configuration stands before the one in force')
    this.#placed.push({ index, membership })
  }

  truncate(from: number): void {
    while (this.#placed.length > 1 && this.index >= from) this.#placed.pop()
  }

  compact(index: number): void {
    const keep = this.#placed.findLastIndex((placed) => placed.index <= index)
    if (keep > 0) this.#placed.splice(0, keep)
  }

  restart(index: number, membership: Membership): void {
    this.#placed = [{ index, membership }]
  }
}
