// Test: random messages of every type, for fast-check.

import fc from 'fast-check'
import { NO_MEMBERS } from '../../core/membership.js'
import type { Entry, LogPosition, Membership, Message } from '../../core/types.js'

const count = fc.oneof(
  fc.nat(),
  fc.maxSafeNat().map((n) => Math.floor(n / 64)),
)
const bytes = fc.uint8Array({ maxLength: 300 })
const position: fc.Arbitrary<LogPosition> = fc.record({ index: count, term: count, time: count })

const id = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })

const membership: fc.Arbitrary<Membership> = fc
  .uniqueArray(id, { minLength: 1, maxLength: 5 })
  .map((ids) => [...ids].sort((a, b) => (a < b ? -1 : 1)))
  .chain((ids) =>
    fc.nat({ max: ids.length - 1 }).map((learners) => ({
      ...NO_MEMBERS,
      voters: ids.slice(learners),
      learners: ids.slice(0, learners),
      peers: Object.fromEntries(ids.map((one) => [one, { url: `ws://${one}`, incarnation: `of ${one}` }])),
    })),
  )

const kind = fc.constantFrom('empty', 'commands', 'members' as const)
const entryOf = fc.record({ rise: fc.nat({ max: 3 }), time: count, kind, data: bytes })

/**
 * The entries follow prevIndex without a gap. Terms never go down, and no term is above the sender's term.
 */
const append = fc
  .record({
    prevIndex: count,
    prevTerm: count,
    commit: count,
    round: count,
    list: fc.array(entryOf, { maxLength: 8 }),
  })
  .map(({ list, prevTerm: before, ...rest }) => {
    let term = before + 1
    const entries = list.map(({ rise, ...entry }, i): Entry => {
      term += rise
      return { ...entry, term, index: rest.prevIndex + 1 + i }
    })
    return { type: 'append' as const, ...rest, prevTerm: before, entries, term: term + 1 }
  })

const is = <Type extends Message['type']>(type: Type) => fc.constant(type)

const plain = fc.oneof(
  fc.record({ type: is('preVote'), lastIndex: count, lastTerm: count }),
  fc.record({ type: is('preVoteReply'), granted: fc.boolean(), campaignTerm: count }),
  fc.record({ type: is('vote'), lastIndex: count, lastTerm: count, transfer: fc.boolean() }),
  fc.record({ type: is('voteReply'), granted: fc.boolean() }),
  fc.record({ type: is('appendReply'), ok: fc.constant(true as const), match: count, round: count }),
  fc.record({
    type: is('appendReply'),
    ok: fc.constant(false as const),
    rejected: count,
    hintIndex: count,
    hintTerm: count,
    round: count,
  }),
  fc.record({ type: is('heartbeat'), commit: count, round: count }),
  fc.record({ type: is('heartbeatReply'), round: count, match: count }),
  fc.record({ type: is('storedByAll'), index: count }),
  fc.record({ type: is('snapshot'), position, membership, offset: count, chunk: bytes, done: fc.boolean() }),
  fc.record({ type: is('snapshotReply'), position, offset: count, installed: fc.boolean() }),
  fc.record({ type: is('timeoutNow') }),
  fc.record({ type: is('readIndex'), context: count }),
  fc.record({
    type: is('readIndexReply'),
    context: count,
    index: fc.option(count, { nil: undefined }),
    time: count,
  }),
)

export const FROM = 'a'
export const TO = 'b'

export const message: fc.Arbitrary<Message> = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: append }), count, count)
  .map(([body, group, term]) => ({ term: term + 1, ...body, group, from: FROM, to: TO }))
