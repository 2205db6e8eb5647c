// Test: no malformed message is accepted, whichever field is wrong.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { MAX_COUNT, whyRefused } from './message-checks.js'
import { encodeMembership } from './membership.js'
import type { Membership, Message } from './types.js'

const membership: Membership = {
  voters: ['a', 'b'],
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: { a: { url: 'a', incarnation: 'one' }, b: { url: 'b', incarnation: '' } },
}
const own = { id: 'b', group: 1, membership }
const head = { group: 1, from: 'a', to: 'b', term: 3 }
const entry = { index: 2, term: 3, time: 5, kind: 'commands', data: new Uint8Array(1) }
const position = { index: 4, term: 2, time: 9 }
const valid: Record<string, Record<string, unknown>> = {
  preVote: { lastIndex: 1, lastTerm: 1 },
  preVoteReply: { granted: true, campaignTerm: 4 },
  vote: { lastIndex: 1, lastTerm: 1, transfer: false },
  voteReply: { granted: false },
  append: { prevIndex: 1, prevTerm: 1, commit: 0, entries: [entry], round: 0 },
  appendReply: { ok: false, rejected: 3, hintIndex: 1, hintTerm: 1, round: 0 },
  heartbeat: { commit: 1, round: 2 },
  heartbeatReply: { round: 2, match: 1 },
  storedByAll: { index: 7 },
  snapshot: { position, membership, offset: 0, chunk: new Uint8Array(2), done: true },
  snapshotReply: { position, offset: 0, installed: false },
  timeoutNow: {},
  readIndex: { context: 7 },
  readIndexReply: { context: 7, index: undefined, time: 0 },
}
const message = (type: string, bent: Record<string, unknown> = {}): Message =>
  ({ ...head, type, ...valid[type], ...bent }) as unknown as Message
const why = (type: string, bent: Record<string, unknown> = {}, incarnation?: string) =>
  whyRefused(own, message(type, bent), incarnation)

test('a valid message of each kind is accepted', () => {
  for (const type of Object.keys(valid)) expect(why(type), type).toBeUndefined()
})

test.each<[string, Record<string, unknown>]>([
  ['another group', { group: 2 }],
  ['for another member', { to: 'a' }],
  ['from myself', { from: 'b' }],
  ['from nobody', { from: '' }],
  ['from nobody', { from: 7 }],
  ['no term', { term: 0 }],
  ['no term', { term: 2 ** 53 }],
  ['no term', { term: MAX_COUNT + 1 }],
  ['no term', { term: -1 }],
  ['no term', { term: 1.5 }],
  ['no term', { term: '3' }],
  ['no term', { term: Number.NaN }],
])('E19: %s (%j)', (reason, bent) => {
  for (const type of Object.keys(valid)) {
    if (type === 'preVoteReply' && bent.term === 0) continue
    expect(why(type, bent), type).toBe(reason)
  }
})

const bentEntry = (bent: Record<string, unknown>) => ({ entries: [{ ...entry, ...bent }] })

test.each([
  ['append', { prevIndex: -1 }, 'a number out of bounds'],
  ['append', { prevTerm: 4 }, 'a log from the future'],
  ['append', bentEntry({ index: 3 }), 'entries with a gap'],
  ['append', bentEntry({ term: 0 }), 'terms that go back'],
  ['append', { prevTerm: 2, ...bentEntry({ term: 1 }) }, 'terms that go back'],
  ['append', bentEntry({ term: 4 }), 'an entry from the future'],
  ['append', { entries: [entry, { ...entry, index: 3, time: 4 }] }, 'times that go back'],
  ['append', bentEntry({ time: 0.5 }), 'times that go back'],
  ['append', bentEntry({ kind: 'other' }), 'an unknown kind of entry'],
  ['append', bentEntry({ data: 'text' }), 'an entry without data'],
  ['append', bentEntry({ kind: 'members' }), 'a configuration that is none'],
  ['append', bentEntry({ kind: 'members', data: encodeMembership(membership) }), undefined],
  ['appendReply', { hintTerm: -1 }, 'a number out of bounds'],
  ['appendReply', { ok: true, match: 2 ** 60 }, 'a number out of bounds'],
  ['heartbeat', { commit: Number.POSITIVE_INFINITY }, 'a number out of bounds'],
  ['heartbeatReply', { match: undefined, round: '1' }, 'a number out of bounds'],
  ['vote', { lastTerm: 9 }, 'a log from the future'],
  ['preVote', { lastIndex: null }, 'a number out of bounds'],
  ['voteReply', { granted: 1 }, 'neither yes nor no'],
  ['preVoteReply', { campaignTerm: 0.1 }, 'a number out of bounds'],
  ['snapshot', { position: { ...position, term: 4 } }, 'a snapshot from the future'],
  ['snapshot', { position: { index: 0, term: 0, time: 0 } }, 'a snapshot of nothing'],
  ['snapshot', { chunk: [1] }, 'a piece without data'],
  ['snapshot', { done: 'yes' }, 'neither yes nor no'],
  ['snapshot', { membership: { ...membership, voters: [] } }, 'there would be no voter'],
  ['snapshotReply', { offset: -5 }, 'a number out of bounds'],
  ['readIndex', { context: undefined }, 'a number out of bounds'],
  ['heartbeat', { round: undefined }, 'a number out of bounds'],
  ['appendReply', { ok: 1 }, 'neither yes nor no'],
  ['append', { entries: null }, 'no entries'],
  ['append', { entries: [null] }, 'entries with a gap'],
  ['snapshot', { position: null }, 'no position'],
  ['snapshot', { membership: null }, 'no configuration'],
  ['readIndexReply', { index: -1 }, 'a number out of bounds'],
  ['nonsense', {}, 'an unknown kind of message'],
])('L13, L17, M18: %s with %j: %s', (type, bent, reason) => {
  expect(why(type, bent)).toBe(reason)
})

test('M13, L10: a message of another incarnation of a known member is refused; the first incarnation of a member is accepted', () => {
  expect(why('heartbeat', {}, 'two')).toBe('another incarnation')
  expect(why('heartbeat', {}, 'one')).toBeUndefined()
  expect(whyRefused({ ...own, id: 'a' }, message('heartbeat', { from: 'b', to: 'a' }), 'new')).toBeUndefined()
})

test('E19: a message with random changes is refused or accepted, and nothing is thrown', () => {
  const random = seededRandom('door')
  const values = [
    undefined,
    null,
    -1,
    0,
    1.5,
    2 ** 53,
    Number.NaN,
    '',
    'x',
    true,
    [],
    {},
    new Uint8Array(0),
    [null],
    [{}],
  ]
  for (let i = 0; i < 20_000; i++) {
    const type = random.pick(Object.keys(valid))
    const bent: Record<string, unknown> = {}
    const fields = ['from', 'term', ...Object.keys(valid[type] as object)]
    bent[random.pick(fields)] = random.pick(values)
    why(type, bent)
  }
})
