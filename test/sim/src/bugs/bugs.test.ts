// Test: the simulator finds some known bugs of the core. `npm run sim -- --bugs` tests all of them.

import { Raft } from '@latchkey/raft/core'
import { expect, test } from 'vitest'
import { scenarios } from '../scenarios/all.js'
import { idsOf } from '../scenarios/scenario.js'
import type * as quorum from '../../../../packages/raft/dist/core/quorum.js'
import type * as raft from '../../../../packages/raft/dist/core/raft.js'
import { type Change, checkChange, exportsOf, like, loadCopy } from '../run/changed-packages.js'
import { loadRaft } from '../raft/raft-modules.js'
import { raftProfile } from '../raft/raft-profile.js'
import { hunt, isCaught } from '../run/bug-hunt.js'
import { bugs } from './all.js'
import { inQuorum } from './core-exports.js'

const QUICK = [
  'a member sends a vote before its log is synced',
  'a follower acknowledges entries before its log is synced',
  'an entry of an old term is committed by counting (Figure 8)',
  'after a truncation, the removed entries still count as durable',
  'a follower truncates its log at each append',
  'half of an even number of voters elects a leader',
  'a leader without a quorum does not step down',
  'a learner counts for a majority',
  'a leader answers a read without a quorum',
  'a leader gives entries the time of its last tick',
  'one reading of the clock may add any time to cluster time',
]

test.each(QUICK)('%s', async (name) => {
  const bug = bugs.find((candidate) => candidate.name === name)
  if (bug === undefined) throw new Error(`there is no bug "${name}"`)
  const caught = await hunt(bug, raftProfile, await raftProfile.load())
  expect(isCaught(caught), JSON.stringify(caught, undefined, 1)).toBe(true)
})

test('the core has the exports that each bug replaces', () => {
  for (const { name, changes } of bugs) {
    for (const change of changes) expect(() => checkChange(change), name).not.toThrow()
  }
})

test('at least 40 bugs, each with another name, and with a scenario where one is named', () => {
  expect(bugs.length).toBeGreaterThanOrEqual(40)
  expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length)
  for (const { scenario, seeds } of bugs) {
    if (scenario === undefined) expect(seeds).toBeGreaterThan(0)
    else expect(scenarios.some((candidate) => idsOf(candidate).includes(scenario))).toBe(true)
  }
})

test('a bug that replaces an export which the core does not have is an error that says so', async () => {
  const changes = [{ file: 'raft/dist/core/log-in-memory.js', name: 'Logg', put: (real: unknown) => real }]
  await expect(loadRaft(changes)).rejects.toThrow('raft/dist/core/log-in-memory.js exports no Logg')
})

/** Loads one module of the core from a changed copy. */
const load = <Module>(file: string, changes: readonly Change[]) =>
  loadCopy<Module>({ packages: ['base', 'raft'], others: [], files: [file] }, changes)

test('a method is replaced, and only in the copy', async () => {
  const { modules, remove } = await load<typeof raft>('raft/core/raft', [
    exportsOf<typeof raft>('raft/core/raft')(
      'Raft',
      (Real) =>
        class extends Real {
          override describe() {
            return `replaced: ${super.describe()}`
          }
        },
    ),
  ])
  try {
    const { Raft: Changed } = modules
    expect(Object.getPrototypeOf(Changed.prototype)).toHaveProperty('describe')
    expect(Changed.prototype.describe).not.toBe(Raft.prototype.describe)
    expect(Object.getPrototypeOf(Raft.prototype)).not.toHaveProperty('describe')
  } finally {
    remove()
  }
})

test('two exports of one module are replaced in one copy', async () => {
  const { modules, remove } = await load<typeof quorum>('raft/core/quorum', [
    inQuorum('isQuorum', () => () => true),
    inQuorum('quorumValue', (real) => (halves, valueOf) => 100 + real(halves, valueOf)),
    inQuorum('quorumValue', (real) => (halves, valueOf) => 10 * real(halves, valueOf)),
  ])
  try {
    const halves = { voters: ['a'], outgoing: [] }
    expect(modules.isQuorum(halves, () => false)).toBe(true)
    expect(modules.quorumValue(halves, () => 1)).toBe(1010)
  } finally {
    remove()
  }
})

test('an object like another has its methods and private fields, and the given properties instead of its own', () => {
  class Counter {
    #count = 0
    readonly step: number = 1
    add() {
      this.#count += this.step
      return this.#count
    }
  }
  const counter = new Counter()
  const other = like(counter, { step: 7 })
  expect([other.step, other.add(), counter.add(), other instanceof Counter]).toEqual([7, 1, 2, true])
})
