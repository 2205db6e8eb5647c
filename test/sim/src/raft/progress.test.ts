// Test: after the faults, the check of progress accepts repaired clusters, and finds the fault in a cluster
// that makes no progress.

import { expect, test } from 'vitest'
import { drawOptions } from './options.js'
import { demandProgress } from './progress.js'
import { realModules } from './raft-modules.js'
import { RaftWorld } from './raft-world.js'
import { run } from './run-seed.js'
import { found } from '../run/run-seed.js'

/** A founded world of that many members, with a leader, on a quick network and quick disks. */
async function worldOf(members: number, seed = 1): Promise<RaftWorld> {
  const drawn = drawOptions(seed, 'clocks')
  const network = { ...drawn.network, base: 500, tail: 0, unreliable: undefined }
  const disk = { ...drawn.disk, syncBase: 500, syncTail: 0 }
  const client = { ...drawn.client, loss: 0, timeout: drawn.member.electionTimeout * 1000 }
  const world = new RaftWorld({ ...drawn, members, network, disk, client, drift: 0 }, realModules)
  await found(world)
  await until(world, () => world.leader() !== undefined)
  return world
}

async function until(world: RaftWorld, done: () => boolean): Promise<void> {
  await world.run(world.time.now + 20 * world.options.member.electionTimeout * 1000, done)
  expect(done()).toBe(true)
}

test.each([1, 2, 3, 4, 5, 6])('in a healed world no process stands still: seed %i', async (seed) => {
  const world = await worldOf(3, seed)
  const leader = world.leader()
  if (leader === undefined) throw new Error('nobody leads')
  leader.host.stall = 30 * world.options.member.electionTimeout * 1000
  await until(world, () => leader.host.stopped)
  leader.host.stop(true)
  await demandProgress(world)
  expect(world.members.some(({ host }) => host.stopped || host.suspended)).toBe(false)
})

test('a call is repeated if a disk error from before the repair kills the member that got it', async () => {
  expect(await run(drawOptions(1_487_072_516), realModules)).toMatchObject({ verdict: 'pass', message: '' })
})

test('a machine that loses power at the last write may keep the others waiting until they notice', async () => {
  expect(await run(drawOptions(383_073_059), realModules)).toMatchObject({ verdict: 'pass', message: '' })
})

test('a snapshot to a member that stays dead is no missing progress', async () => {
  expect(await run(drawOptions(2_007_222_679), realModules)).toMatchObject({ verdict: 'pass', message: '' })
})

test('a read that is given up by its caller is no progress', async () => {
  const world = await worldOf(2)
  if (world.leader()?.id === 'b') world.leader()?.transfer('a')
  await until(world, () => world.leader()?.id === 'a' && world.find('b')?.view?.leader === 'a')
  world.drops = ({ type }) => type === 'readIndex'
  await expect(demandProgress(world)).rejects.toThrow('a read of a healed cluster')
})
