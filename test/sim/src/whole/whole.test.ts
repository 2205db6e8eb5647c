// Test: whole members and clients in the simulator: fixed seeds, two equal runs of one seed, and known bugs that
// the simulator must find.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hunt } from '../run/bug-hunt.js'
import { checkChange } from '../run/changed-packages.js'
import type { LoadedProfile } from '../run/profile.js'
import { wholeBugs } from './bugs/all.js'
import { drawWhole, WHOLE_WORKLOADS } from './options.js'
import { wholeProfile } from './whole-profile.js'

let loaded: LoadedProfile
beforeAll(async () => {
  loaded = await wholeProfile.load()
})
afterAll(() => loaded.remove())

const outcome = async (seed: number, workload?: (typeof WHOLE_WORKLOADS)[number]) => {
  const { verdict, law, message } = await loaded.run(drawWhole(seed, workload))
  const words = workload === undefined ? '' : ` --workload ${workload}`
  return verdict === 'pass'
    ? 'pass'
    : `${verdict}: ${law}: ${message}; npm run sim -- --profile whole --seed ${seed}${words}`
}

describe.each(WHOLE_WORKLOADS)('D8 A10 K6 C2 C73: the production code under the workload %s', (workload) => {
  test.each([9, 10])('seed %i', async (seed) => {
    expect(await outcome(seed, workload)).toBe('pass')
  })
})

test.each([
  // All machines lose power, and a client dials them just before they are back.
  1_218_898_980,
])('a seed that failed once: %i', async (seed) => {
  expect(await outcome(seed)).toBe('pass')
})

test('two runs of one seed are identical, byte for byte', async () => {
  for (const workload of ['kv', 'renewing', 'waiters'] as const) {
    const [first, second] = [
      await loaded.run(drawWhole(5, workload)),
      await loaded.run(drawWhole(5, workload)),
    ]
    expect(second.hash).toBe(first.hash)
    expect(first.events).toBeGreaterThan(1_000)
    expect((await loaded.run(drawWhole(6, workload))).hash).not.toBe(first.hash)
  }
})

describe.each([
  ["M22 C30: the directory of another cluster at a member's address", 'foreignDirectory', 0, 0],
  ['C30: the directory of another cluster, and all clients reach all members', 'foreignAmongOthers', 0, 0],
  ['M12: no member sends a removed follower its removal', 'unseenRemoval', -1, 3],
] as const)('%s', (_, kind, who, embedded) => {
  test.each([1, 2, 3])('seed %i', async (seed) => {
    const options = { ...drawWhole(seed, 'kv'), members: 3, embedded }
    const faults = [{ number: 0, at: 2_000_000, kind, who, other: 0, millis: 8_000 }]
    const { verdict, message } = await loaded.run(options, { faults })
    expect([verdict, message]).toEqual(['pass', ''])
  })
})

describe('known bugs', () => {
  test.each(wholeBugs.map((bug) => [bug.name, bug] as const))(
    'the product has the exports that the bug replaces: %s',
    (_, bug) => {
      for (const change of bug.changes) checkChange(change)
    },
  )

  test.each([
    ['K4', 'a holder counts its lease from the answer'],
    ['K21', 'a waiter whose session has ended gets the lock'],
    ['K6', 'a guarded write succeeds after the end of the lease'],
    ['C2', 'the state machine stores no answers'],
    ['A1', 'the state machine reads a clock during apply'],
    ['E1', 'a member sends a vote before the vote is durable'],
    ['C62', 'a mirror shows the changes of a revision one by one'],
    ['C61', 'the changes after a list begin one revision too late'],
    ['A19', 'a key expires after nine tenths of its ttl'],
    ['A20', 'a put without a ttl keeps the ttl of the earlier put'],
    ['A21', 'a key that is bound to a session outlives the session'],
    ['K73', 'a barrier opens one party too early'],
    ['K72', 'a barrier counts a party whose session has ended'],
    ['K71', 'a latch opens only for its first waiter'],
    ['K70', 'after a reconnect, a store does not ask how a wait ended'],
    ['C73', 'the cluster keeps no answer for an idempotency key'],
    ['M22', 'a member serves clients before the listed members have answered'],
    ['C30', 'a client ignores the cluster ids of the other members'],
    ['M12', 'a member on an older connection does not learn of its removal'],
  ])('%s: the simulator finds the bug: %s', async (_, name) => {
    const bug = wholeBugs.find((one) => one.name === name)
    expect(bug && (await hunt(bug, wholeProfile, loaded)).seed).toBeDefined()
  })
})
