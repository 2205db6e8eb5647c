// Test: the limits for the work of one command, and for the work in one turn of the event loop.

import { seededRandom } from '@latchkey/base'
import { COMMAND_BUDGET, type Command, FIELD, IS, OP, READ, STEP, type Step } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { encodeBatch } from './commands/log-entry-records.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { RowBuilder, RowStorage, RowRange, RowStore, RowView } from './storage/row-store-interface.js'
import { World, k, record } from './testing/state-machine-with-own-log.js'

const refused = (words: RegExp) => [expect.any(Number), expect.stringMatching(words), false, false]
const put = (key: string, value: string): Step => [STEP.put, k(key), k(value)]
const range = (start: string, end: string): Step => [STEP.deleteRange, k(start), k(end)]
const many = <const T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

const SMALL = { rows: 10, ranges: 3, readBytes: 1_000, writeBytes: 1_000 }
const small = () => World.open({ limits: { budget: SMALL } })

describe('A13: a command over its budget is refused as a whole', () => {
  const value = 'v'.repeat(90)
  const lot = 'v'.repeat(400)
  const merge: Step = [STEP.merge, k('m'), k('x')]
  const rows: [name: string, command: (n: number) => Command, most: number, words: RegExp][] = [
    [
      'keys of putAll',
      (n) => [OP.putAll, null, many(n, (i) => [k(`p${i}`), k('')])],
      10,
      /11 keys.*10 rows.*Split it/,
    ],
    ['keys of deleteAll', (n) => [OP.deleteAll, null, many(n, () => k('p'))], 10, /11 keys.*10 rows/],
    [
      'comparisons',
      (n) => [OP.compareAndPutAll, null, many(n, (i) => [k(`c${i}`), null, k('')])],
      10,
      /11 keys/,
    ],
    ['steps of a batch', (n) => [OP.batch, null, many(n, (i) => put(`b${i}`, ''))], 10, /11 keys.*10 rows/],
    [
      'conditions and both branches',
      (n) => [
        OP.txn,
        null,
        many(4, () => [FIELD.version, IS['>'], k('a'), 9]),
        many(3, () => put('t', '')),
        many(n, (i) => put(`e${i}`, '')),
      ],
      3,
      /11 keys, conditions and steps.*10 rows/,
    ],
    [
      'the steps of a txn that is applied once, and its kept answer',
      (n) => [OP.txn, null, [], many(n, (i) => put(`o${i}`, '')), [], [k('once'), k('digest'), 1_000]],
      9,
      /11 keys, conditions and steps.*10 rows/,
    ],
    ['ranges', (n) => [OP.batch, null, many(n, () => range('x', 'y'))], 3, /4 deleteRange steps.*may have 3/],
    [
      'rows that ranges remove, counted for each range',
      (n) => [OP.batch, null, many(n, () => range('r', 's'))],
      2,
      /more than 10 rows.*give a large range/,
    ],
    [
      'bytes that are read',
      (n) => [OP.txn, null, many(n, () => [FIELD.value, IS['!='], k('lot'), k('no')]), [], []],
      2,
      /read more than 1000 bytes/,
    ],
    [
      'bytes that are written',
      (n) => [OP.putAll, null, many(n, (i) => [k(`w${i}`), k(value)])],
      9,
      /write more than 1000 bytes/,
    ],
    [
      'what merges read and write',
      (n) => [OP.batch, null, many(n, () => merge)],
      1,
      /write more than 1000 bytes|read more than 1000 bytes/,
    ],
  ]
  test.each(rows)('%s', async (_, command, most, words) => {
    const w = await small()
    for (const key of ['r1', 'r2', 'r3']) await w.one([OP.put, null, k(key), k('')])
    for (const key of ['lot', 'm']) await w.one([OP.put, null, k(key), k(lot)])
    const before = w.machine.stateHash().spaces
    expect(await w.one(command(most + 1))).toEqual(refused(words))
    const { data, events } = w.machine.stateHash().spaces
    expect([data, events]).toEqual([before['data'], before['events']])
    expect(((await w.one(command(most))) as unknown[])[0]).not.toBe(7)
  })
})

test('A13: a random workload with a small budget gives the same answers and state, whatever is already written, and after a start', async () => {
  for (let seed = 0; seed < 4; seed++) {
    const random = seededRandom(`budget ${seed}`)
    const limits = { budget: SMALL, events: 100, eventBytes: 5_000 }
    const w = await World.open({ limits })
    const never = await World.open({
      limits: { ...limits, flushMillis: 1e9, flushBytes: 1e9, overlayBytes: 1e9 },
    })
    const key = () => `k${random.between(10, 30)}`
    const step = (): Step => {
      if (random.chance(0.2)) return range(key(), key())
      if (random.chance(0.3)) return [STEP.merge, k(key()), k('x'.repeat(random.between(0, 60)))]
      return random.chance(0.3) ? [STEP.delete, k(key())] : put(key(), 'v'.repeat(random.between(0, 150)))
    }
    let over = 0
    for (let round = 0; round < 150; round++) {
      const commands = many(random.between(1, 3), (): Command => {
        const steps = many(random.between(1, 9), step)
        if (random.chance(0.5)) return [OP.batch, null, steps]
        return [OP.txn, null, [[FIELD.version, IS['>'], k(key()), 0]], steps.slice(4), steps.slice(0, 4)]
      })
      const answers = await w.run(...commands)
      expect(await never.run(...commands)).toEqual(answers)
      over += answers.filter((answer) => (answer as unknown[])[0] === 7).length
      expect(w.machine.stateHash()).toEqual(never.machine.stateHash())
      if (random.chance(0.5)) await w.machine.flush()
      if (random.chance(0.05)) await w.restart()
    }
    expect(over).toBeGreaterThan(10)
  }
})

/** Counts the rows that views return, to check how many rows a look-up reads. */
class CountingStorage implements RowStorage {
  readonly #storage = new SimulatedRowStorage()
  rows = 0

  async open(): Promise<RowStore | undefined> {
    const store = await this.#storage.open()
    if (store === undefined) return undefined
    const view = store.view.bind(store)
    store.view = () => this.#counting(view())
    return store
  }
  #counting(view: RowView): RowView {
    const page = async (of: RowRange, rows: number, bytes: number) => {
      const found = await view.page(of, rows, bytes)
      this.rows += found.rows.length
      return found
    }
    return { page, close: () => view.close() }
  }
  build = (): Promise<RowBuilder> => this.#storage.build()
  sweep = (): Promise<void> => this.#storage.sweep()
  discard = (): Promise<void> => this.#storage.discard()
}

const longKey = (i: number) => k(String(i).padStart(6, '0').repeat(680))

test('A13, A14: ranges over many long keys are refused before their rows are gathered, and again at each start', async () => {
  const storage = new CountingStorage()
  const w = await World.open({ storage })
  for (let i = 0; i < 5_000; i += 500)
    await w.one([OP.putAll, null, many(500, (n) => [longKey(i + n), k('')])])
  await w.machine.flush()
  storage.rows = 0
  expect(await w.one([OP.batch, null, many(1_500, () => range('0', '1'))])).toEqual(
    refused(/1500 deleteRange steps.*may have 128/),
  )
  expect(storage.rows).toBe(0)
  const hundred: Command = [OP.batch, null, many(100, () => range('0', '1'))]
  expect(await w.one(hundred)).toEqual(refused(/read more than 16777216 bytes/))
  // The rows up to the first one over the budget, and the rest of its page.
  expect(storage.rows).toBeLessThan(5_300)
  // Nothing of this was stored, so a start applies it once more.
  storage.rows = 0
  const before = w.machine.stateHash()
  await w.reopen()
  expect(w.machine.stateHash()).toEqual(before)
  expect(await w.one([OP.deleteRange, null, k('0'), k('1')])).toBe(5_000)
})

test('A13: merges onto a large value are refused after a few of them', async () => {
  const w = await World.open()
  await w.one([OP.put, null, k('m'), Buffer.alloc(900_000, 1)])
  const turns = Math.ceil((128 * 1024) / 12)
  expect(await w.one([OP.batch, null, many(turns, () => [STEP.merge, k('m'), k('x')])])).toEqual(
    refused(/(read|write) more than 16777216 bytes/),
  )
  expect(await w.one([OP.batch, null, many(5, () => [STEP.merge, k('m'), k('x')])])).toMatchObject([
    2,
    many(5, () => true),
  ])
})

test('A13: a multiGet has a limit of keys, and reads no more than one answer may hold', async () => {
  const w = await World.open()
  await w.one([OP.put, null, k('v'), Buffer.alloc(1 << 20)])
  const get = (keys: number) => () => w.machine.read([READ.multiGet, many(keys, () => k('v'))])
  expect(get(4_097)).toThrow(/4097 keys; one call may ask for 4096/)
  expect(get(4_096)).toThrow(/more than \d+ bytes/)
  expect((get(15)() as unknown[]).length).toBe(15)
})

test('ordinary bulk work is accepted: 20,000 small rows by each command that names many', async () => {
  const w = await World.open()
  const rows = COMMAND_BUDGET.rows
  expect(await w.one([OP.putAll, null, many(rows, (i) => [k(`k${i}`), k('v')])])).toBe(1)
  expect(await w.one([OP.compareAndPutAll, null, many(rows, (i) => [k(`k${i}`), k('v'), k('w')])])).toBe(true)
  const steps = [...many(rows / 2 - 2, (i) => put(`b${i}`, '')), range('b', 'c')]
  const [revision, results] = (await w.one([OP.batch, null, steps])) as [number, (boolean | number)[]]
  expect([revision, results.at(-1)]).toEqual([3, rows / 2 - 2])
  expect(await w.one([OP.deleteAll, null, many(rows, (i) => k(`k${i}`))])).toBe(rows)
})

describe('A15: what is applied in a turn is bounded', () => {
  /** Runs `bodies` in a new world, and returns how often another turn was asked for. */
  async function turnsOf(bodies: (w: World) => Promise<unknown>): Promise<number> {
    let turns = 0
    const nextTurn = (run: () => void) => {
      turns++
      setImmediate(run)
    }
    const w = await World.open({ nextTurn })
    turns = 0
    await bodies(w)
    return turns
  }
  const records = (w: World, count: number) =>
    encodeBatch(many(count, (i) => record(w.session, i + 1, [OP.put, null, k(`k${i}`), k('v')])))

  test('an entry of many commands', async () => {
    expect(await turnsOf((w) => w.apply(w.entry(records(w, 900))))).toBe(0)
    expect(await turnsOf((w) => w.apply(w.entry(records(w, 1_024)), w.entry(records(w, 0))))).toBe(0)
    expect(
      await turnsOf(async (w) => {
        const entries = many(8, (n) =>
          w.entry(encodeBatch(many(500, (i) => record(w.session, 0, [OP.keepAlive], n + i)))),
        )
        await w.apply(...entries)
      }),
    ).toBeGreaterThanOrEqual(1)
  })

  test('one command of many rows, and one of large values', async () => {
    const rows = (w: World) => w.one([OP.putAll, null, many(20_000, (i) => [k(`k${i}`), k('v')])])
    expect(await turnsOf(rows)).toBeGreaterThan(20)
    const large = (w: World) => w.one([OP.putAll, null, many(3, (i) => [k(`k${i}`), Buffer.alloc(1 << 20)])])
    expect(await turnsOf(async (w) => [await large(w), await large(w), await large(w)])).toBeGreaterThan(2)
  })

  test('a command that names one key many times, before its row is changed', async () => {
    const pairs = many(20_000, () => [k('k'), k('v')] as const)
    // One turn decodes the command, one finds the last value of each key, and one changes the row.
    expect(await turnsOf((w) => w.one([OP.putAll, null, pairs]))).toBeGreaterThanOrEqual(2)
    const swaps = many(20_000, () => [k('k'), null, k('v')] as const)
    expect(await turnsOf((w) => w.one([OP.compareAndPutAll, null, swaps]))).toBeGreaterThanOrEqual(2)
  })

  test('the turns change nothing: the answers and the state are the same in one turn and in many', async () => {
    const w = await World.open()
    const commands: Command[] = [
      [OP.putAll, null, many(5_000, (i) => [k(`k${i}`), k('v')])],
      [OP.deleteAll, null, many(5_000, (i) => k(`k${i * 2}`))],
      [OP.batch, null, [...many(3_000, (i) => put(`k${i}`, 'w')), range('k1', 'k2')]],
    ]
    const answers = await w.run(...commands)
    const one = await World.open({ nextTurn: (run) => run() })
    expect(await one.run(...commands)).toEqual(answers)
    expect(one.machine.stateHash()).toEqual(w.machine.stateHash())
    expect(answers).toEqual([1, 2_500, [3, [...many(3_000, () => true), expect.any(Number)]]])
  })
})
