// Test: the metrics count every kind of hold, every kind survives a restart, a snapshot and a restore, and
// one command renews all kinds.

import { join } from 'node:path'
import {
  type Command,
  KIND,
  type Kind,
  lockKeyOf,
  OP,
  OWNER_CODES,
  type OwnerResult,
  READ,
  type RenewResult,
  type ShareArg,
} from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import { afterAll, expect, test } from 'vitest'
import type { LockFigures } from './state/lock-counts.js'
import { restoreRows } from './restore-backup.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import { writeBackup } from './testing/write-backup-to-file.js'
import { Folders } from './testing/temporary-folders.js'
import { applyAll, newMachine } from './testing/apply-entries-and-hash-rows.js'
import { show } from './testing/results-as-text.js'
import { drawWorkload } from './testing/random-commands.js'
import { MEMBERS, World, k } from './testing/state-machine-with-own-log.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

/** null: one attempt. */
const ask = (
  kind: Kind,
  id: string,
  lease: number,
  wait: number | null = null,
  share?: ShareArg,
): Command => {
  const plain = [OP.tryLock, lockKeyOf(kind, k('n')), null, false, id, lease, 0, null, wait] as const
  return share === undefined ? plain : [...plain, share]
}
const askAt = (name: string, id: string, lease: number, wait: number | null, share: ShareArg): Command => [
  OP.tryLock,
  k(name),
  null,
  false,
  id,
  lease,
  0,
  null,
  wait,
  share,
]

const none = { lock: 0, semaphore: 0, election: 0, web_lock: 0, shared_lock: 0 }
const figuresOf = ({ machine }: World): LockFigures => machine.openSessions.lockFigures as LockFigures

/** One hold of every kind, two of some, and a waiter behind each that can have one. */
const EVERY_KIND: Command[] = [
  ask(KIND.lock, 'a', 10_000),
  ask(KIND.lock, 'b', 10_000, 0),
  askAt('r', 'a', 10_000, null, [1, 0]),
  askAt('r', 'b', 10_000, null, [1, 0]),
  askAt('r', 'c', 10_000, 0, [1, 0]),
  ask(KIND.semaphore, 'a', 10_000, null, [3, 5]),
  ask(KIND.semaphore, 'b', 10_000, null, [1, 5]),
  ask(KIND.semaphore, 'c', 10_000, 0, [2, 5]),
  ask(KIND.election, 'a', 10_000),
  ask(KIND.election, 'b', 10_000, 0),
  ask(KIND.webLock, 'a', 10_000, null, [1, 0]),
  ask(KIND.webLock, 'b', 10_000, 0),
]
const HELD = { lock: 1, semaphore: 2, election: 1, web_lock: 1, shared_lock: 3 }
const WAITING = { lock: 1, semaphore: 1, election: 1, web_lock: 1, shared_lock: 0 }

async function withEveryKind(): Promise<World> {
  const w = await World.open()
  await w.run(...EVERY_KIND)
  expect(figuresOf(w)).toEqual({
    held: HELD,
    waiting: WAITING,
    granted: HELD,
    expired: none,
    taken: none,
    permits: 4,
  })
  return w
}

test('every kind is counted by itself: grants, waits, releases, expiries', async () => {
  const w = await withEveryKind()
  await w.run(
    [OP.release, lockKeyOf(KIND.semaphore, k('n')), 'a', 0, true],
    [OP.downgrade, lockKeyOf(KIND.election, k('n')), 'a', 0],
    [OP.cancelWait, lockKeyOf(KIND.webLock, k('n')), 'b'],
  )
  expect(figuresOf(w)).toMatchObject({
    held: { ...HELD, semaphore: 2 },
    waiting: { ...WAITING, semaphore: 0, web_lock: 0 },
    granted: { ...HELD, semaphore: 3 },
    permits: 3,
  })
  await w.one([OP.keepAlive])
  // The leases of all are over; those who waited for the lock and the election are granted theirs.
  await w.tick(10_001)
  expect(figuresOf(w)).toMatchObject({
    held: { ...none, lock: 1, election: 1 },
    waiting: none,
    permits: 0,
    expired: { lock: 1, semaphore: 2, election: 1, web_lock: 1, shared_lock: 3 },
  })
  await w.tick(60_000)
  expect(figuresOf(w).held).toEqual(none)
  // The row of the exclusive hold that is over is taken by another; it counts once.
  await w.openSession().then((session) => (w.session = session))
  await w.one(ask(KIND.lock, 'z', 1_000))
  expect(figuresOf(w).held).toEqual({ ...none, lock: 1 })
})

test('the longest wait is that of the first waiter of each kind, also after a restart', async () => {
  const w = await withEveryKind()
  const longest = () => w.machine.figures.longestWaits
  expect(longest()).toEqual(none)
  await w.tick(400)
  await w.one(ask(KIND.lock, 'later', 10_000, 0))
  await w.tick(300)
  const waited = { ...none, lock: 700, semaphore: 700, election: 700, web_lock: 700 }
  expect(longest()).toEqual(waited)
  await w.machine.flush()
  await w.restart()
  expect(longest()).toEqual(waited)
  await w.run(
    [OP.cancelWait, lockKeyOf(KIND.lock, k('n')), 'b'],
    [OP.cancelWait, lockKeyOf(KIND.webLock, k('n')), 'b'],
  )
  expect(longest()).toEqual({ ...waited, lock: 300, web_lock: 0 })
})

test('every kind is there after a restart, in a snapshot, and in a backup without its waiters', async () => {
  const w = await withEveryKind()
  const present = { held: HELD, waiting: WAITING, permits: 4 }
  const before = w.machine.stateHash()
  await w.machine.flush()
  await w.restart()
  expect(w.machine.stateHash()).toEqual(before)
  expect(figuresOf(w)).toMatchObject(present)

  const reader = await w.machine.snapshot()
  const receiver = newMachine(new SimulatedRowStorage())
  await receiver.open()
  await applyAll(receiver, drawWorkload('another life', 50))
  const writer = await receiver.receive(reader.state)
  for (let piece = await reader.read(1_000); piece !== undefined; piece = await reader.read(1_000))
    await writer.write(piece)
  await writer.install()
  expect(receiver.stateHash()).toEqual(before)
  expect(receiver.openSessions.lockFigures).toMatchObject(present)

  const file = join(folders.make(), 'store.backup')
  await writeBackup(w.machine, file)
  const storage = new SimulatedRowStorage()
  await restoreRows(file, storage, MEMBERS)
  const restored = newMachine(storage)
  await restored.open()
  expect(restored.openSessions.lockFigures).toMatchObject({ held: HELD, waiting: none, permits: 4 })
  for (const space of ['holds', 'shared', 'semaphores'])
    expect(restored.stateHash().spaces[space]).toBe(before.spaces[space])
})

test('A10: a set is granted to an id that already has one of its locks: after the release and a restart, both are free', async () => {
  const w = await World.open()
  const tryLock = (key: string, id: string, more: readonly unknown[] = []) =>
    [OP.tryLock, k(key), null, false, id, 60_000, 0, null, null, ...more] as unknown as Command
  await w.one(tryLock('m', 'other'))
  const set: Command = [
    OP.tryLockAll,
    'me',
    [
      [k('l'), 1],
      [k('m'), 1],
    ],
    null,
    60_000,
    null,
    0,
  ]
  await w.one(set)
  await w.one(tryLock('l', 'me', [[1, 0]]))
  await w.machine.flush()
  await w.one([OP.release, k('m'), 'other', 0, true])
  const holders = () =>
    (show(w.machine.read([READ.lockQuery, null, false, false])) as unknown[][]).map(([key, id]) => [key, id])
  expect(holders()).toEqual([
    ['l', 'me'],
    ['m', 'me'],
  ])
  await w.machine.flush()
  await w.one([
    OP.releaseAll,
    [
      [k('l'), 'me'],
      [k('m'), 'me'],
    ],
  ])
  const before = w.machine.stateHash()
  await w.machine.flush()
  await w.restart()
  expect(holders()).toEqual([])
  expect(w.machine.stateHash()).toEqual(before)
})

test('one command renews holds of every kind', async () => {
  const w = await withEveryKind()
  await w.tick(9_000)
  const keys = Object.values(KIND).map((kind) => lockKeyOf(kind, k('n')))
  const [, items] = (await w.one([
    OP.renew,
    [...keys, k('r')].map((key) => [key, 'a', 0, 20_000] as const),
  ])) as RenewResult
  // Without a token in the request each answer is the owner itself, with its code.
  expect(items.map((item) => OWNER_CODES[(item as OwnerResult)[6]])).toEqual(items.map(() => 'KEEP_LEASE'))
  await w.tick(9_000)
  expect(figuresOf(w).held).toMatchObject({ lock: 1, semaphore: 2, election: 1, web_lock: 1, shared_lock: 1 })
})

/** Of a machine with these entries; `restarts`: before the last one. */
async function figuresAfter(entries: readonly Entry[], restarts: boolean) {
  const storage = new SimulatedRowStorage()
  let machine = newMachine(storage)
  await machine.open()
  await applyAll(machine, entries.slice(0, -1))
  if (restarts) {
    await machine.close()
    machine = newMachine(storage)
    await machine.open()
  }
  // Holds that are over are found to be so at the next entry, also by a machine that has just started.
  await applyAll(machine, entries.slice(-1))
  const { held, waiting, permits } = machine.openSessions.lockFigures as LockFigures
  return { held, waiting, permits }
}

test('after random entries the figures are those of the rows, which a restarted machine counts anew', async () => {
  const total = { held: 0, waiting: 0, permits: 0 }
  for (let seed = 1; seed <= 20; seed++) {
    const entries = drawWorkload(seed, 40 + seed * 5)
    const { held, waiting, permits } = await figuresAfter(entries, false)
    expect(await figuresAfter(entries, true), `seed ${seed}`).toEqual({ held, waiting, permits })
    total.held += held.lock + held.shared_lock
    total.waiting += waiting.lock + waiting.shared_lock
    total.permits += permits
  }
  for (const [what, sum] of Object.entries(total)) expect(sum, what).toBeGreaterThan(0)
})
