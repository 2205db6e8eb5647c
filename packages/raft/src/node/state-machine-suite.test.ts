// Test: the suite for state machines accepts a correct state machine and refuses faulty ones.

import { utf8 } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import { MACHINE_CASES, type MachineHarness } from './state-machine-suite.js'
import { frameRecord } from './entry-commands.js'
import { Counter } from './testing/counter.js'

const harness = (make: () => Counter): MachineHarness => ({
  make,
  crash: async (machine) => new (machine.constructor as typeof Counter)((machine as Counter).disk),
  data: (number, commands) =>
    Buffer.concat(Array.from({ length: commands }, (_, i) => frameRecord(utf8(`${number}.${i}`)))),
  show: (machine) => JSON.stringify((machine as Counter).words),
})

describe('a machine that keeps the rules', () => {
  test.each(MACHINE_CASES)('$name', ({ run }) => run(harness(() => new Counter())))
})

async function faults(make: () => Counter): Promise<number> {
  const results = await Promise.allSettled(MACHINE_CASES.map(({ run }) => run(harness(make))))
  return results.filter((one) => one.status === 'rejected').length
}

class Forgetful extends Counter {
  override async flush(): Promise<void> {}
  override flushAlways = false
}
class TwiceApplied extends Counter {
  override async open() {
    const state = await super.open()
    return state && { ...state, position: { ...state.position, index: state.position.index - 1 } }
  }
}
class Mixing extends Counter {
  override async receive(state: Parameters<Counter['receive']>[0]) {
    const before = [...this.words]
    const writer = await super.receive(state)
    return { ...writer, install: async () => writer.install().then(() => void this.words.unshift(...before)) }
  }
}

test.each([
  ['one whose flush keeps nothing', Forgetful],
  ['one that stands an entry behind what it holds', TwiceApplied],
  ['one that mixes an installed snapshot with its own state', Mixing],
])('the suite refuses %s', async (_, Bad) => {
  expect(await faults(() => new Bad())).toBeGreaterThan(0)
})
