// Test: which of two processes with the same identity counts as the member.

import { expect, test } from 'vitest'
import { DuplicateProcesses } from './duplicate-member-process.js'
import type { PeerInfo } from './transport-interface.js'

const url = 'ws://127.0.0.1:7001'
const boot = (number: number): PeerInfo => ({
  id: 'a',
  incarnation: 'of a',
  boot: number,
  clusterId: 'c-1',
  group: 0,
  level: 1,
  version: 1,
})

test("M23: a second process is refused only while the first one answers at the member's address", () => {
  const second = new DuplicateProcesses()
  expect(second.why(boot(2), { info: boot(1), url })).toBeUndefined()
  second.note(boot(2))
  expect(second.why(boot(2), { info: boot(1), url })).toMatch(/^two processes are member a: .*:7001/)
  // The process answers at the member's address itself, or no process does: it may be the member.
  expect(second.why(boot(2), { info: boot(2), url })).toBeUndefined()
  expect(second.why(boot(2), undefined)).toBeUndefined()
  // A process that is not known yet, such as the member after a restart.
  expect(second.why(boot(3), { info: boot(1), url })).toBeUndefined()
  expect(second.why({ ...boot(2), id: 'b' }, { info: { ...boot(1), id: 'b' }, url })).toBeUndefined()
  second.forget('a')
  expect(second.why(boot(2), { info: boot(1), url })).toBeUndefined()
})

test('M23: of the second processes of a member the last sixteen are remembered', () => {
  const second = new DuplicateProcesses()
  for (let number = 1; number <= 17; number++) second.note(boot(number))
  second.note(boot(3))
  second.note(boot(18))
  const refused = Array.from({ length: 18 }, (_, at) => at + 1).filter(
    (number) => second.why(boot(number), { info: boot(99), url }) !== undefined,
  )
  expect(refused).toEqual([3, ...Array.from({ length: 15 }, (_, at) => at + 4)])
})
