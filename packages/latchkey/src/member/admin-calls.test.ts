// Test: calls that transfer the leadership: the ones that succeed, that have nothing to do, and that are
// refused.

import type { HandOver } from '@latchkey/raft'
import { expect, test } from 'vitest'
import { Admin, type AdminPorts } from './admin-calls.js'

const leaderWhose = (outcome: HandOver) => {
  const membership = { voters: ['a', 'b'], outgoing: [], learners: ['c'], learnersNext: [], peers: {} }
  const node = { role: 'leader', options: { id: 'a' }, raft: { leader: 'a', membership } }
  return new Admin({ node, handOver: async () => outcome } as unknown as AdminPorts)
}

test.each([
  ['stayed', { code: 'ERR_TIMEOUT', outcome: 'not-applied', retryable: true }],
  ['unknown', { code: 'ERR_OUTCOME_UNKNOWN', outcome: 'unknown', retryable: false }],
] as const)('E17: a transfer that came to nothing says whether it still may: %s', async (outcome, told) => {
  const asked = leaderWhose(outcome).run('transferLeadership', ['b'])
  await expect(asked).rejects.toMatchObject({ ...told, message: expect.stringContaining(' to b') })
})

test('a transfer that was done, or has nothing to do', async () => {
  expect(await leaderWhose('moved').run('transferLeadership', [null])).toBeNull()
  expect(await leaderWhose('stayed').run('transferLeadership', ['a'])).toBeNull()
})

test('a transfer to a learner, or to nobody, is refused at once', async () => {
  const asked = (to: string) => leaderWhose('moved').run('transferLeadership', [to])
  await expect(asked('c')).rejects.toMatchObject({
    code: 'ERR_MISMATCH',
    message: expect.stringContaining('Promote it'),
  })
  await expect(asked('x')).rejects.toMatchObject({
    code: 'ERR_MISMATCH',
    message: expect.stringContaining('a, b, c'),
  })
})
