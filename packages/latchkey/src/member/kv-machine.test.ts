// Test: the key-value state machine passes the suite for all state machines.

import { silentLogger, systemClock } from '@latchkey/base'
import { encodeBatch, KvMachine, SimulatedRowHome } from '@latchkey/kv'
import { encodeCommand, OP } from '@latchkey/protocol'
import { MACHINE_CASES, type MachineHarness, type StateMachine } from '@latchkey/raft'
import { describe, test } from 'vitest'

const homes = new WeakMap<StateMachine, SimulatedRowHome>()

function machineAt(home: SimulatedRowHome): StateMachine {
  const machine = new KvMachine({
    home,
    clock: systemClock(() => 0),
    nextTurn: setImmediate,
    logger: silentLogger,
  })
  homes.set(machine, home)
  return machine
}

const harness: MachineHarness = {
  make: () => machineAt(new SimulatedRowHome()),
  crash: async (machine) => {
    const home = homes.get(machine) as SimulatedRowHome
    await machine.close()
    return machineAt(home)
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
