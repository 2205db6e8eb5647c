// Test: members in the few states with which the tests of the core's public methods begin.

import { assert, seededRandom } from '@latchkey/base'
import { Raft } from '../index.js'
import type { Effect, Entry, Membership, Message, Proposal } from '../index.js'
import type { RaftBoot, RaftOptions } from '../options.js'

export const peersOf = (ids: readonly string[], incarnation = '') =>
  Object.fromEntries(ids.map((id) => [id, { url: id, incarnation }]))
export const of = (voters: string[], learners: string[] = [], incarnation = ''): Membership => ({
  voters,
  outgoing: [],
  learners,
  learnersNext: [],
  peers: peersOf([...voters, ...learners], incarnation),
})
export const entry = (index: number, term: number, size = 1): Entry => ({
  index,
  term,
  time: 0,
  kind: 'commands',
  data: new Uint8Array(size),
})
const boot = (rest: Partial<RaftBoot> = {}): RaftBoot => ({
  hardState: { term: 0, vote: undefined },
  entries: [],
  start: { index: 0, term: 0, time: 0 },
  membership: of(['a', 'b', 'c']),
  applied: 0,
  ...rest,
})
export const make = (rest: Partial<RaftBoot> = {}, options: Partial<RaftOptions> = {}, id = 'a') =>
  new Raft(
    { id, group: 1, electionTimeout: 100, heartbeat: 20, random: seededRandom(1), ...options },
    boot(rest),
    0,
  )
export const to = (type: Message['type'], from: string, fields: object): Message =>
  ({ type, group: 1, from, to: 'a', term: 1, ...fields }) as unknown as Message
export const kinds = (effects: readonly Effect[]) =>
  effects.map((effect) => (effect.type === 'send' ? effect.message.type : effect.type))
export const ok = (proposal: Proposal) => {
  if (!proposal.ok) throw new Error(proposal.reason)
  return proposal
}

const leads = ({ role }: Raft): boolean => role === 'leader'

/** Returns the only voter of a group. It leads, and its first entry is committed. */
export function alone(
  rest: Partial<RaftBoot> = {},
  options: Partial<RaftOptions> = {},
): { raft: Raft; now: number } {
  const raft = make({ membership: of(['a']), ...rest }, options)
  let now = 0
  while (raft.role !== 'candidate') raft.tick((now += 10))
  for (let id = 1; id <= 2; id++) raft.persisted(id, now)
  assert(leads(raft), 'it leads')
  return { raft, now }
}

/** Returns the leader of three members. Its first entry is committed. */
export function leading(
  options: Partial<RaftOptions> = {},
  rest: Partial<RaftBoot> = {},
): { raft: Raft; now: number } {
  const raft = make(rest, { preVote: false, ...options })
  let now = 0
  while (raft.role !== 'candidate') raft.tick((now += 10))
  const { term } = raft
  raft.persisted(1, now)
  raft.step(to('voteReply', 'b', { term, granted: true }), now)
  raft.persisted(2, now)
  raft.step(to('appendReply', 'b', { term, ok: true, match: raft.lastIndex, round: 0 }), now)
  assert(raft.commit === raft.lastIndex, 'its first entry is committed')
  return { raft, now }
}
