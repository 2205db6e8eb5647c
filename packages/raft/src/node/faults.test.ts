// Test: a node whose part fails, stops or is slow: the whole node stops, reports the reason, and never waits
// for ever.

import { utf8 } from '@latchkey/base'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Entry } from '../core/types.js'
import type { Applied } from './state-machine-interface.js'
import { frameRecord } from './entry-commands.js'
import type { Replica } from './replica.js'
import type { Counter } from './testing/counter.js'
import { World } from './testing/world.js'

let world: World

beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

async function one(): Promise<Replica> {
  const alone = await world.boot('a', { members: undefined as never })
  await world.elect()
  return alone
}

const others = (leader: Replica) => world.ids.filter((id) => id !== leader.node.options.id)

/** A machine whose apply completes when `go` is called. */
function slowly(counter: Counter): { readonly go: () => void; readonly waiting: () => boolean } {
  const apply = counter.apply.bind(counter)
  let release: (() => void) | undefined
  counter.apply = ((...args: Parameters<typeof apply>) => {
    if (!(args[0] as Entry[]).some((entry) => entry.kind === 'commands')) return apply(...args)
    return new Promise<Applied[]>((resolve) => {
      release = () => resolve(apply(...args))
    })
  }) as typeof counter.apply
  return { go: () => release?.(), waiting: () => release !== undefined }
}

test('A4 A5: an error of the machine stops the member, which sends nothing any more', async () => {
  const leader = await world.three()
  const failures: string[] = []
  leader.node.on('failed', (error) => failures.push(error.message))
  world.seat(leader.node.options.id).counter.nextDeadline = () => {
    throw new Error('rotten')
  }
  await world.run(50)
  expect(failures).toEqual([expect.stringContaining('rotten')])
  expect(leader.node.failure).toMatchObject({ code: 'ERR_STORAGE_FAILED' })
  world.unplug(leader.node.options.id)
})

test('A5: after a failed write nothing of the same call is carried out any more', async () => {
  const leader = await one()
  const { counter } = world.seat('a')
  const applied = counter.words.length
  world.seat('a').disk.failAt(world.seat('a').disk.operations + 1, { code: 'EIO' })
  const told = world.submit(leader, 'x')
  await world.run(20)
  expect((await told).type).toBe('unknown')
  expect(leader.node.proposeChange({ type: 'remove', id: 'a' })).toMatchObject({ ok: false })
  leader.node.compact(0, 0)
  leader.node.transfer(undefined)
  expect(counter.words.length).toBe(applied)
  expect(await world.submit(leader, 'y')).toEqual({ type: 'refused', reason: 'closed' })
})

test('A4: an entry that the machine cannot decode stops the member, not the process', async () => {
  const leader = await one()
  const failures: string[] = []
  leader.node.on('failed', (error) => failures.push(error.code))
  const entry = leader.node.raft.entry.bind(leader.node.raft)
  leader.node.raft.entry = (index) => {
    throw new Error(`no entry ${entry(index).index}`)
  }
  void world.submit(leader, 'x')
  await world.run(50)
  expect(failures).toEqual(['ERR_STORAGE_FAILED'])
})

test('C9: a close during an apply ends, and so does one while a snapshot waits for that apply', async () => {
  const leader = await world.three({ snapshot: { everyEntries: 4, everyBytes: 1e6 } })
  const lagging = others(leader)[0] as string
  const slow = slowly(world.seat(lagging).counter)
  await world.add(leader, 'first')
  await world.until(slow.waiting)
  world.isolate(lagging)
  for (let i = 0; i < 12; i++) await world.add(leader, `w${i}`)
  const install = vi.spyOn(world.seat(lagging).counter, 'receive')
  world.heal()
  await world.until(() => install.mock.calls.length > 0)
  await world.run(100)
  const replica = world.seat(lagging).replica as Replica
  const closed = replica.close()
  await world.run(20)
  slow.go()
  await world.run(20)
  await closed
  world.seat(lagging).replica = undefined
})

test('E17: commands that gathered during a failed transfer are proposed when the transfer is given up', async () => {
  const leader = await world.three()
  const heir = others(leader)[0] as string
  world.isolate(heir)
  leader.node.transfer(heir)
  expect(leader.node.raft.transferring).toBe(true)
  const told = world.submit(leader, 'x')
  await world.run(300)
  expect(leader.node.raft.transferring).toBe(false)
  expect(await Promise.race([told, Promise.resolve('nothing')])).toMatchObject({ type: 'applied' })
})

test('L16: after a successful transfer the gathered commands are refused as never proposed', async () => {
  const leader = await world.three()
  const moved = leader.handOver(1_000)
  const told = world.submit(leader, 'x')
  await world.until(() => leader.node.role !== 'leader')
  expect(await told).toEqual({ type: 'refused', reason: 'not-leader' })
  expect(await moved).toBe('moved')
})

test.each(['readIndex', 'readIndexReply'] as const)(
  'a read of a follower whose %s is lost ends within two election timeouts, so that its caller asks again',
  async (lost) => {
    const leader = await world.three()
    const { term } = leader.node.raft
    const { node } = world.seat(others(leader)[0] as string).replica as Replica
    world.isLost = ({ type }) => type === lost
    const ends: boolean[] = []
    node.read(({ ok }) => ends.push(ok))
    await world.run(50)
    expect(ends).toEqual([])
    world.isLost = () => false
    await world.run(150)
    expect(ends).toEqual([false])
    node.read(({ ok }) => ends.push(ok))
    await world.run(50)
    expect([ends, leader.node.role, leader.node.raft.term]).toEqual([[false, true], 'leader', term])
  },
)

test('a read of a leader that is cut off from the others ends when the leader steps down', async () => {
  const leader = await world.three()
  world.isolate(leader.node.options.id)
  const ends: boolean[] = []
  leader.node.read(({ ok }) => ends.push(ok))
  await world.run(50)
  expect([ends, leader.node.role]).toEqual([[], 'leader'])
  await world.until(() => leader.node.role !== 'leader', 300)
  await world.run(10)
  expect(ends).toEqual([false])
})

test('L18: pieces of a snapshot wait at their sender while the disk is behind', async () => {
  const leader = await world.three({ snapshot: { everyEntries: 4, everyBytes: 1e8 } })
  const lagging = others(leader)[0] as string
  world.isolate(lagging)
  const word = 'x'.repeat(1_000_000)
  for (let i = 0; i < 40; i++) await world.add(leader, `${word}${i}`)
  const { counter } = world.seat(lagging)
  const receive = counter.receive.bind(counter)
  let open = false
  let staged = 0
  let most = 0
  counter.receive = async (state) => {
    const writer = await receive(state)
    return {
      ...writer,
      write: async (chunk) => {
        while (!open) await new Promise((resolve) => setImmediate(resolve))
        staged -= chunk.length
        await writer.write(chunk)
      },
    }
  }
  const replica = world.seat(lagging).replica as Replica
  const step = replica.node.raft.step.bind(replica.node.raft)
  replica.node.raft.step = (message, ...rest) => {
    const effects = step(message, ...rest)
    for (const effect of effects) if (effect.type === 'stageSnapshot') staged += effect.chunk.length
    most = Math.max(most, staged)
    return effects
  }
  world.heal()
  await world.run(400)
  expect(most).toBeGreaterThan(1_000_000)
  expect(most).toBeLessThan(10_000_000)
  open = true
  await world.until(() => counter.words.length === 40)
})

test('S10: what was received of a snapshot is dropped when another member leads', async () => {
  const leader = await world.three({ snapshot: { everyEntries: 4, everyBytes: 1e8 } })
  const lagging = others(leader)[0] as string
  world.isolate(lagging)
  for (let i = 0; i < 10; i++) await world.add(leader, `${'x'.repeat(1_000_000)}${i}`)
  const { counter } = world.seat(lagging)
  const receive = counter.receive.bind(counter)
  let aborted = 0
  let written = 0
  counter.receive = async (state) => {
    const writer = await receive(state)
    const abort = async () => void aborted++
    const write = async (chunk: Uint8Array) => {
      written++
      await writer.write(chunk)
    }
    return { ...writer, write, abort }
  }
  world.heal()
  await world.until(() => written > 0)
  const [, third] = others(leader)
  expect(counter.words.length).toBeLessThan(10)
  world.crash(leader.node.options.id)
  world.crash(third as string)
  await world.until(() => aborted > 0)
})

test('ERR_BUSY: a leader without followers takes a limited amount of proposals', async () => {
  const leader = await world.three({ maxInFlightBytes: 1_000 })
  await world.run(200)
  for (const id of others(leader)) world.isolate(id)
  const told = ['x', 'y', 'z'].map(async (word) => {
    const outcome = await world.submit(leader, word.repeat(600))
    return outcome.type === 'refused' ? outcome.reason : outcome.type
  })
  await world.run(400)
  expect(leader.node.role).not.toBe('leader')
  expect(await Promise.all(told)).toEqual(['unknown', 'busy', 'busy'])
})

test('E17: a named target that cannot take over is tried once', async () => {
  const leader = await world.three()
  const heir = others(leader)[0] as string
  const transfer = vi.spyOn(leader.node, 'transfer')
  const moved = leader.handOver(1_000, heir)
  world.isolate(heir)
  await world.run(300)
  // The target was asked to campaign before it was cut off.
  expect(await Promise.race([moved, Promise.resolve('waiting')])).toBe('unknown')
  expect(transfer.mock.calls.length).toBe(1)
  expect(await leader.handOver(1_000, heir)).toBe('unknown')
  expect(transfer.mock.calls.length).toBe(1)
})

test('E17: an unknown or unreachable target is not asked to campaign: the leader stays', async () => {
  const leader = await world.three()
  const heir = others(leader)[0] as string
  world.isolate(heir)
  expect(await leader.handOver(1_000, 'nobody')).toBe('stayed')
  expect(await leader.handOver(1_000, heir)).toBe('stayed')
})

test('a hand-over to nobody ends at once; a failed member hands nothing over', async () => {
  const leader = await world.three()
  for (const id of others(leader)) world.crash(id)
  const began = world.clock.now()
  const moved = leader.handOver(10_000)
  await world.run(20)
  expect(await Promise.race([moved, Promise.resolve('waiting')])).toBe('stayed')
  expect(world.clock.now() - began).toBeLessThan(100)
  leader.node.fail('a test', new Error('x'))
  const again = leader.handOver(10_000)
  await world.run(4)
  expect(await Promise.race([again, Promise.resolve('waiting')])).toBe('stayed')
})

test('M13: a member is written down although the leader could not do it when they met', async () => {
  const leader = await world.three()
  await world.run(200)
  const d = await world.boot('d', { join: true })
  expect(
    leader.node.proposeChange({ type: 'add-learner', id: 'd', peer: { url: 'ws://d', incarnation: '' } }),
  ).toMatchObject({ ok: true })
  world.look()
  // They connect while that change is pending: recording the incarnation is refused, and is tried again after
  // the change.
  await world.until(() => leader.node.raft.membership.peers['d']?.incarnation === d.identity.incarnation)
})

test('a commanded compaction after the end changes nothing', async () => {
  const leader = await one()
  for (let i = 0; i < 5; i++) await world.add(leader, `w${i}`)
  await leader.close()
  const first = leader.node.raft.firstIndex
  leader.node.compact(0, 0)
  expect(leader.node.raft.firstIndex).toBe(first)
  world.seat('a').replica = undefined
})

test('L14: a refused record is told at once and leaves no trace', async () => {
  const leader = await one()
  const told: unknown[] = []
  leader.node.submit(frameRecord(new Uint8Array(9 * 1024 * 1024)), (outcome) => told.push(outcome))
  expect(told).toEqual([{ type: 'refused', reason: 'too-large' }])
  leader.node.submit(frameRecord(utf8('y')), (outcome) => told.push(outcome))
  await world.run(20)
  expect(told[1]).toMatchObject({ type: 'applied' })
})
