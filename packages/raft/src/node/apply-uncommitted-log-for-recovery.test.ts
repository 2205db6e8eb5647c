// Test: a state machine applies a whole log while its member is not running.

import { silentLogger } from '@latchkey/base'
import { expect, test } from 'vitest'
import { encodeMembership, NO_MEMBERS } from '../core/index.js'
import type { Entry, PersistBatch } from '../core/types.js'
import { ManualClock, MemoryDisk } from '../memory/index.js'
import { frameRecord } from './entry-commands.js'
import { openLog } from './recover-log-and-state-machine.js'
import { Counter } from './testing/counter.js'
import { applyWholeLog } from './apply-uncommitted-log-for-recovery.js'

const clock = new ManualClock()
const of = (...voters: string[]) => ({
  ...NO_MEMBERS,
  voters,
  peers: Object.fromEntries(voters.map((id) => [id, { url: '', incarnation: '' }])),
})
const command = (index: number, term = 1): Entry => ({
  index,
  term,
  time: index * 10,
  kind: 'commands',
  data: frameRecord(Buffer.from(`w${index}`)),
})
const where = (disk: MemoryDisk) => ({ id: 'a', fs: disk, dir: 'log', clock, logger: silentLogger })

/** A log with these batches, as a member that was killed has left it. */
async function left(...batches: Partial<PersistBatch>[]): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const { wal } = await openLog({ id: 'a' }, { ...where(disk), newId: () => 'i' })
  for (const [id, batch] of batches.entries())
    await new Promise<void>((done, fail) => {
      const whole = { hardState: undefined, truncateFrom: undefined, entries: [], restartAfter: undefined }
      wal.append({ id: id + 1, ...whole, ...batch }, (error) => (error ? fail(error) : done()))
    })
  await wal.close()
  return disk
}

test('OP2: every entry is applied, in order, with the members at each; more of them than one turn applies', async () => {
  const change: Entry = { ...command(301), kind: 'members', data: encodeMembership(of('a', 'b')) }
  const entries = [...Array.from({ length: 300 }, (_, at) => command(at + 1)), change, command(302, 2)]
  const disk = await left({ hardState: { term: 2, vote: 'b' }, entries })
  const machine = new Counter()
  const { state, fromLog } = await applyWholeLog({ ...where(disk), machine })
  expect(machine.words).toEqual([...Array.from({ length: 300 }, (_, at) => `w${at + 1}`), 'w302'])
  expect(state.position).toEqual({ index: 302, term: 2, time: 3020 })
  expect([state.membership.voters, fromLog]).toEqual([['a', 'b'], 302])
  // What is applied already is not applied again.
  const again = new Counter(machine.disk)
  expect(await applyWholeLog({ ...where(disk), machine: again })).toMatchObject({ state, fromLog: 0 })
  expect(again.words).toHaveLength(301)
})

test('an entry that a later leader made void is not applied', async () => {
  const disk = await left(
    { entries: [command(1), command(2), command(3)] },
    { truncateFrom: 2, entries: [command(2, 2)] },
  )
  const machine = new Counter()
  const { state } = await applyWholeLog({ ...where(disk), machine })
  expect([machine.words, state.position.index, state.position.term]).toEqual([['w1', 'w2'], 2, 2])
})

test('D17: a state that the log does not reach back to is refused: the entries between are gone', async () => {
  const position = { index: 40, term: 3, time: 400 }
  const disk = await left({ restartAfter: { position, membership: of('a') } }, { entries: [command(41, 3)] })
  for (const state of [undefined, { position: { index: 7, term: 1, time: 70 }, membership: of('a') }])
    await expect(
      applyWholeLog({ ...where(disk), machine: new Counter({ state, words: [] }) }),
    ).rejects.toMatchObject({ code: 'ERR_CORRUPT', message: expect.stringMatching(/does not fit its log/) })
})

test('a state beyond the end of its log counts by itself: its snapshot was installed before the log knew it', async () => {
  const disk = await left({ entries: [command(1)] })
  const state = { position: { index: 9, term: 2, time: 90 }, membership: of('a', 'b', 'c') }
  const machine = new Counter({ state, words: ['of the snapshot'] })
  expect(await applyWholeLog({ ...where(disk), machine })).toMatchObject({ state, fromLog: 0 })
})

test('a directory from which nothing was ever promised has nothing', async () => {
  const disk = await left()
  await expect(applyWholeLog({ ...where(disk), machine: new Counter() })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
  })
})
