// Test: the calls that list the sessions and end one, for each outcome of the cluster.

import type { KvStore } from '@latchkey/kv'
import { encodeAnswer, errorAnswer, okAnswer } from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { endSession, listSessions } from './list-and-end-sessions.js'

const node = (outcome: object) => {
  const submitted: unknown[] = []
  return {
    submitted,
    read: (done: (outcome: object) => void) => done(outcome),
    submit: (record: unknown, done: (outcome: object) => void) => {
      submitted.push(record)
      done(outcome)
    },
  }
}
const asNode = (one: object) => one as unknown as RaftNode
const kv = (list: () => unknown) => ({ openSessions: { list } }) as unknown as KvStore

test('the list needs a leader, and an error of the list is an error of the call', async () => {
  const sessions = [[1, 'a']]
  await expect(
    listSessions(
      asNode(node({ ok: true })),
      kv(() => sessions),
    ),
  ).resolves.toBe(sessions)
  await expect(
    listSessions(
      asNode(node({ ok: false })),
      kv(() => sessions),
    ),
  ).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
  })
  const broken = kv(() => {
    throw new RangeError('broken')
  })
  await expect(listSessions(asNode(node({ ok: true })), broken)).rejects.toThrow('broken')
})

const answered = (answer: Parameters<typeof encodeAnswer>[0]) =>
  ({ type: 'applied', answer: { bytes: encodeAnswer(answer) } }) as unknown as Outcome

test.each([
  [answered(okAnswer(true)), true],
  [answered(okAnswer(false)), false],
  [answered(errorAnswer('ERR_FORBIDDEN')), 'ERR_FORBIDDEN'],
  [{ type: 'unknown' }, 'ERR_OUTCOME_UNKNOWN'],
  [{ type: 'refused', reason: 'busy' }, 'ERR_BUSY'],
  [{ type: 'refused', reason: 'not-leader' }, 'ERR_NO_LEADER'],
])('the end of a session: %j', async (outcome, expected) => {
  const result = await endSession(asNode(node(outcome)), '12').catch((error: { code: string }) => error.code)
  expect(result).toBe(expected)
})

test.each([undefined, 12, '', '0', '-1', '1.5', '01', 'x1', '1x', '9999999999999999', '99999999999999999'])(
  'a session is not named by %j',
  async (given) => {
    const one = node({ type: 'unknown' })
    await expect(endSession(asNode(one), given)).rejects.toMatchObject({ code: 'ERR_PROTOCOL' })
    expect(one.submitted).toEqual([])
  },
)

test('session 1 and the largest number are names of sessions', async () => {
  for (const given of ['1', '281474976710655']) {
    const one = node({ type: 'unknown' })
    await expect(endSession(asNode(one), given)).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
    expect(one.submitted).toHaveLength(1)
  }
})
