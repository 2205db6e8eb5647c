// Rule: a cluster for tests of one law. Its members do what the test says, right or wrong.

import { utf8 } from '@latchkey/base'
import {
  decodeMembership,
  encodeMembership,
  type Entry,
  type Membership,
  type Message,
  type PersistBatch,
} from '@latchkey/raft/core'
import type { MakeLaw } from './law.js'
import { LawChecker } from './law-checker.js'

export const decode = (data: Uint8Array): Membership => {
  const membership = decodeMembership(data)
  if (membership === undefined) throw new Error('no membership')
  return membership
}

export const members = (...voters: string[]): Membership => ({
  voters,
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: Object.fromEntries(voters.map((id) => [id, { url: '', incarnation: '' }])),
})

export const entry = (index: number, term: number, text = '', time = 0): Entry => ({
  index,
  term,
  time,
  kind: 'commands',
  data: utf8(text),
})

export const configuration = (index: number, term: number, membership: Membership): Entry => ({
  ...entry(index, term),
  kind: 'members',
  data: encodeMembership(membership),
})

export class ScriptedCluster {
  readonly laws: LawChecker
  #batch = 0

  constructor(law: MakeLaw, membership = members('a', 'b', 'c')) {
    this.laws = new LawChecker(decode, [law])
    for (const id of membership.voters) this.boot(id, membership)
  }

  boot(id: string, membership: Membership, term = 0, vote?: string, entries: readonly Entry[] = []): this {
    const base = { index: 0, term: 0, time: 0 }
    this.laws.booted(id, { term, vote, base, membership, entries, applied: 0 })
    return this
  }

  write(id: string, part: Partial<PersistBatch>, options: { durable?: boolean; at?: number } = {}): this {
    const batch: PersistBatch = {
      id: ++this.#batch,
      hardState: undefined,
      truncateFrom: undefined,
      entries: [],
      restartAfter: undefined,
      ...part,
    }
    this.laws.persisting(id, batch, options.at ?? 0)
    if (options.durable !== false) this.laws.durable(id, batch.id)
    return this
  }

  vote(id: string, term: number, vote: string, durable = true): this {
    return this.write(id, { hardState: { term, vote } }, { durable })
  }

  leads(id: string, term: number): this {
    this.laws.role(id, 'leader', term)
    return this
  }

  commits(id: string, index: number): this {
    this.laws.decided(id, index)
    this.laws.settled(id)
    return this
  }

  applies(id: string, entry: Entry, hash: number, ...answers: string[]): this {
    this.laws.applied(id, { entry, answers: answers.map(utf8), state: { hash } })
    return this
  }

  stages(id: string, offset: number, done = false): this {
    const position = { index: 1, term: 1, time: 0 }
    const piece = { type: 'stageSnapshot', from: 'b', position, membership: members('a'), offset } as const
    this.laws.staged(id, { ...piece, chunk: new Uint8Array(8), done })
    return this
  }

  sends(message: Partial<Message> & { from: string; to: string }): this {
    this.laws.sending(message.from, { group: 1, term: 1, round: 0, ...message } as Message)
    return this
  }
}
