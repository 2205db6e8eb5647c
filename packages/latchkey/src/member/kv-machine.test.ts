// Test: the key-value state machine passes the suite for all state machines.

import { silentLogger, systemClock } from '@latchkey/base'
import { encodeBatch, KvMachine, SimulatedRowStorage } from '@latchkey/kv'
import { encodeCommand, OP } from '@latchkey/protocol'
import { MACHINE_CASES, type MachineHarness, type StateMachine } from '@latchkey/raft'
import { describe, test } from 'vitest'

const storages = new WeakMap<StateMachine, SimulatedRowStorage>()

function machineAt(storage: SimulatedRowStorage): StateMachine {
  const machine = new KvMachine({
    storage,
    clock: systemClock(() => 0),
    nextTurn: setImmediate,
    logger: silentLogger,
  })
  storages.set(machine, storage)
  return machine
}

const harness: MachineHarness = {
  make: () => machineAt(new SimulatedRowStorage()),
  crash: async (machine) => {
    const storage = storages.get(machine) as SimulatedRowStorage
    await machine.close()
    return machineAt(storage)
  },
  data: (number, commands) =>
    encodeBatch(
      Array.from({ length: commands }, (_, i) => {
        const key = new Uint8Array([107, number % 7, i])
        const body =
          number === 1
            ? encodeCommand([OP.openSession, 30_000])
            : encodeCommand([OP.put, null, key, new Uint8Array([number, i])])
        return { session: number === 1 ? 0 : 1, number: number === 1 ? 0 : number * 100 + i, done: 0, body }
      }).slice(0, commands),
    ),
  show: (machine) => JSON.stringify((machine as KvMachine).stateHash().spaces),
}

describe('the key-value store', () => {
  test.each(MACHINE_CASES)('$name', ({ run }) => run(harness))
})
