// Rule: test cases for the laws of every state machine. A case throws if the state machine breaks a law, so
// any test runner can run the cases:
//
//   for (const { name, run } of MACHINE_CASES) test(name, () => run(harness))

import { assert } from '@latchkey/base'
import type { Entry, Membership } from '../core/types.js'
import type { StateMachine } from './state-machine-interface.js'

export interface MachineHarness {
  /** The new state machine is on an empty disk and is not open. */
  make(): StateMachine
  /**
   * Simulates a crash: all data that is not durable is lost. Returns a new state machine on the same disk.
   */
  crash(machine: StateMachine): Promise<StateMachine>
  /**
   * Returns the data of an entry with `commands` commands. Different values of `number` give different
   * commands.
   */
  data(number: number, commands: number): Uint8Array
  show(machine: StateMachine): string | Promise<string>
}

export interface MachineCase {
  readonly name: string
  readonly run: (harness: MachineHarness) => Promise<void>
}

const MEMBERSHIP: Membership = {
  voters: ['a'],
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: { a: { url: 'ws://a', incarnation: 'x' } },
}
const at = () => MEMBERSHIP

function entry(harness: MachineHarness, index: number, commands = 2): Entry {
  return { index, term: 1, time: index * 10, kind: 'commands', data: harness.data(index, commands) }
}
const entries = (harness: MachineHarness, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => entry(harness, from + i))

async function opened(harness: MachineHarness, upTo = 0): Promise<StateMachine> {
  const machine = harness.make()
  assert((await machine.open()) === undefined, 'a new machine has applied nothing')
  if (upTo > 0) await machine.apply(entries(harness, 1, upTo), at)
  return machine
}

async function readAll(machine: StateMachine, piece: number): Promise<{ bytes: Uint8Array; index: number }> {
  const reader = await machine.snapshot()
  const pieces: Uint8Array[] = []
  for (let chunk = await reader.read(piece); chunk !== undefined; chunk = await reader.read(piece)) {
    assert(
      chunk.length > 0 && chunk.length <= piece,
      'a piece has at least one byte and at most what was asked for',
    )
    pieces.push(Uint8Array.from(chunk))
  }
  reader.close()
  return { bytes: Buffer.concat(pieces), index: reader.state.position.index }
}

async function install(from: StateMachine, into: StateMachine, piece = 64): Promise<void> {
  const reader = await from.snapshot()
  const writer = await into.receive(reader.state)
  for (let chunk = await reader.read(piece); chunk !== undefined; chunk = await reader.read(piece))
    await writer.write(chunk)
  reader.close()
  await writer.install()
}

async function same(
  harness: MachineHarness,
  one: StateMachine,
  other: StateMachine,
  why: string,
): Promise<void> {
  assert((await harness.show(one)) === (await harness.show(other)), why)
}

export const MACHINE_CASES: readonly MachineCase[] = [
  {
    name: 'one result an entry, one answer a command, in order',
    async run(harness) {
      const machine = await opened(harness)
      const empty: Entry = { index: 1, term: 1, time: 5, kind: 'empty', data: new Uint8Array(0) }
      const results = await machine.apply([empty, entry(harness, 2, 1), entry(harness, 3, 3)], at)
      assert(results.map((one) => one.index).join() === '1,2,3', 'a result for each entry, in order')
      assert(
        results.map((one) => one.answers?.length).join() === ',1,3',
        'an answer for each command, none for an empty entry',
      )
      await machine.close()
    },
  },
  {
    name: 'the same entries give the same state, however they are cut',
    async run(harness) {
      const [one, other] = [await opened(harness, 9), await opened(harness)]
      for (const each of entries(harness, 1, 9)) await other.apply([each], at)
      await same(harness, one, other, 'two machines that applied the same entries differ')
      await Promise.all([one.close(), other.close()])
    },
  },
  {
    name: 'A2, A3: durable is never ahead of applied, and is all of it after a flush',
    async run(harness) {
      const machine = await opened(harness, 5)
      assert(machine.durable().index <= 5, 'durable is ahead of applied')
      await machine.flush()
      assert(machine.durable().index === 5, 'a flush makes all durable')
      await machine.close()
    },
  },
  {
    name: 'A2: after a crash it stands where it says, and the log completes it: nothing twice, nothing lost',
    async run(harness) {
      const whole = await opened(harness, 12)
      const machine = await opened(harness, 6)
      await machine.flush()
      await machine.apply(entries(harness, 7, 10), at)
      const least = machine.durable().index
      const again = await harness.crash(machine)
      const state = await again.open()
      const from = state?.position.index ?? 0
      assert(from >= least && from >= 6 && from <= 10, 'after a crash it stands between durable and applied')
      assert(
        JSON.stringify(state?.membership) === JSON.stringify(MEMBERSHIP),
        'the members are kept with the state',
      )
      await again.apply(entries(harness, from + 1, 12), at)
      await same(harness, whole, again, 'a crash and the log do not give the state of no crash')
      await Promise.all([whole.close(), again.close()])
    },
  },
  {
    name: 'S6: a snapshot carries everything, and nothing old survives it',
    async run(harness) {
      const [leader, lagging] = [await opened(harness, 20), await opened(harness, 3)]
      await install(leader, lagging)
      await same(harness, leader, lagging, 'an installed snapshot differs from its origin')
      assert(lagging.durable().index === 20, 'an installed snapshot is durable')
      const again = await harness.crash(lagging)
      assert((await again.open())?.position.index === 20, 'an installed snapshot outlives a crash')
      await same(harness, leader, again, 'an installed snapshot differs after a crash')
      await Promise.all([leader.close(), again.close()])
    },
  },
  {
    name: 'S12: a snapshot is one moment, whatever is applied while it is read',
    async run(harness) {
      const [machine, still] = [await opened(harness, 8), await opened(harness, 8)]
      const reader = await machine.snapshot()
      const into = await opened(harness)
      const writer = await into.receive(reader.state)
      let index = 9
      for (let chunk = await reader.read(16); chunk !== undefined; chunk = await reader.read(16)) {
        await writer.write(chunk)
        await machine.apply([entry(harness, index++)], at)
      }
      reader.close()
      await writer.install()
      assert(reader.state.position.index === 8, 'a snapshot says of which entry it is')
      await same(harness, still, into, 'a snapshot shows what was applied later')
      await Promise.all([machine.close(), still.close(), into.close()])
    },
  },
  {
    name: 'the pieces of a snapshot add up to the same bytes, whatever their size',
    async run(harness) {
      const machine = await opened(harness, 8)
      const [small, large] = [await readAll(machine, 7), await readAll(machine, 1 << 20)]
      assert(Buffer.compare(small.bytes, large.bytes) === 0, 'two readings of one state differ')
      await machine.close()
    },
  },
  {
    name: 'S4, S10: a snapshot that is given up, or comes damaged, changes nothing',
    async run(harness) {
      const [leader, lagging, still] = [
        await opened(harness, 20),
        await opened(harness, 3),
        await opened(harness, 3),
      ]
      const { bytes } = await readAll(leader, 1 << 20)
      const reader = await leader.snapshot()
      const given = await lagging.receive(reader.state)
      await given.write(bytes.subarray(0, bytes.length >> 1))
      await given.abort()
      await same(harness, still, lagging, 'a snapshot that was given up left something behind')
      const cut = await lagging.receive(reader.state)
      reader.close()
      const refused = await cut
        .write(bytes.subarray(0, bytes.length >> 1))
        .then(() => cut.install())
        .then(
          () => false,
          () => true,
        )
      assert(refused, 'half a snapshot was installed')
      await cut.abort()
      await same(harness, still, lagging, 'half a snapshot changed the state')
      await Promise.all([leader.close(), lagging.close(), still.close()])
    },
  },
]
