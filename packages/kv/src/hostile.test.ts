// Test: a state machine with a slow disk gives the same answers as one that never writes, at every moment of
// a write (A12, C11). Rows may be in a write, recently written, recently read, or read ahead. Groups of
// events may grow, be stored, or be removed.

import { type Random, binary, checksum, seededRandom } from '@latchkey/base'
import { type Command, type EventResult, encodeCommand, OP, type Read, READ, STEP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { isPlainPut } from './commands/plain-put-parser.js'
import { META_KEY, SPACE, numberIn } from './keyspaces.js'
import { SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { RowChange, RowStore } from './storage/row-store-interface.js'
import { GROUP } from './state/event-row-format.js'
import { decodeMeta } from './state/meta-row.js'
import { World } from './testing/state-machine-with-own-log.js'

/**
 * A disk on which the test decides about each write twice: first when the write happens, then when its
 * promise resolves. In between nobody may change the bytes of the batch (RW7).
 */
class TornStorage extends SimulatedRowStorage {
  #steps: (() => void)[] = []
  /** Writes go through at once. */
  calm = true

  #step(): Promise<void> {
    return this.calm ? Promise.resolve() : new Promise((go) => this.#steps.push(go))
  }

  letGo(): void {
    this.#steps.shift()?.()
  }

  /** Releases every write that waits, and from now on every new one. */
  becalm(): void {
    this.calm = true
    for (const go of this.#steps.splice(0)) go()
  }

  die(how: 'kept' | 'lost'): void {
    this.crash(how)
    this.#steps = []
    this.calm = true
  }

  override async open(): Promise<RowStore | undefined> {
    const store = await super.open()
    if (store === undefined) return undefined
    return {
      get: (key) => store.get(key)?.slice(),
      view: () => store.view(),
      compact: () => store.compact(),
      close: () => store.close(),
      write: async (batch) => {
        const asked = batch.map(copied)
        await this.#step()
        await store.write(batch)
        await this.#step()
        for (const [i, change] of batch.entries())
          expect(copied(change), 'nobody changes what is being written').toEqual(asked[i])
      },
    }
  }
}

const copied = ({ key, value }: RowChange) => ({
  key: binary(key),
  value: value === undefined ? undefined : binary(value),
})

const KEYS = [
  Uint8Array.of(0),
  Uint8Array.of(0, 0),
  Uint8Array.of(0x61),
  Uint8Array.of(0x61, 0),
  Uint8Array.of(0x61, 0xff),
  Uint8Array.of(0x61, 0xff, 0xff),
  Uint8Array.of(0x62),
  Uint8Array.of(0xff),
  Uint8Array.of(0xff, 0xff),
  new Uint8Array(255).fill(0x63),
  new Uint8Array(256).fill(0x63),
  new Uint8Array(4_096).fill(0xff),
]
/** Sizes at the limits: in the row of a group, in a row of its own, in pieces, and not kept at all. */
const SIZES = [0, 0, 1, 1, 20, 20, 20, 300, 4_040, 4_060, 4_080, 16_300, 16_400, 70_000]

/** So many keys that they are removed together, as a range, and not one by one. */
const CROWD = Array.from({ length: 600 }, (_, i) => Buffer.from(`p${String(i).padStart(3, '0')}`))

const keyOf = (random: Random) =>
  random.chance(0.1) ? (CROWD[random.between(0, 5)] as Uint8Array) : random.pick(KEYS)
const valueOf = (random: Random, tag: number) => {
  const value = new Uint8Array(random.chance(0.004) ? 1024 * 1024 : random.pick(SIZES)).fill(tag)
  if (value.length > 3) value[0] = random.between(0, 256)
  return value
}

function drawCommand(random: Random, tag: number): Command {
  const key = keyOf(random)
  switch (random.between(0, 18)) {
    case 15:
      return [OP.put, null, key, valueOf(random, tag), random.pick([0, 1, 300, 2_000])]
    case 16:
      return [OP.touch, null, key, random.between(1, 3_000)]
    case 17:
      return [
        OP.batch,
        null,
        [
          [STEP.put, key, Uint8Array.of(0x37), 900],
          [STEP.increment, key, tag],
        ],
      ]
    case 14:
      return random.chance(0.5)
        ? [OP.putAll, null, CROWD.map((one) => [one, Uint8Array.of(tag)] as const)]
        : [OP.deleteRange, null, Buffer.from('p'), Buffer.from('q')]
    case 0:
      return [OP.deleteAll, null, [key, keyOf(random), key]]
    case 1:
      return [OP.deleteRange, null, key, keyOf(random)]
    case 2:
      return [OP.getAndPut, null, key, valueOf(random, tag)]
    case 3:
      return [
        OP.putAll,
        null,
        KEYS.slice(0, random.between(1, 9)).map((one) => [one, valueOf(random, tag)] as const),
      ]
    case 4:
      return [OP.merge, null, key, Uint8Array.of(tag)]
    case 5:
      return [
        OP.batch,
        null,
        [
          [STEP.put, key, valueOf(random, tag)],
          [STEP.deleteRange, KEYS[0] as Uint8Array, key],
          [STEP.put, keyOf(random), valueOf(random, tag)],
          [STEP.delete, key],
        ],
      ]
    default:
      return [OP.put, null, key, valueOf(random, tag)]
  }
}

const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array)
    return value.length > 30 ? `${value.length}:${checksum(value)}` : binary(value)
  return Array.isArray(value) ? value.map(plain) : value
}

interface Watcher {
  readonly range: { readonly start: Uint8Array | null; readonly end: Uint8Array | null }
  readonly from: number
  readonly told: unknown[]
  upTo: number
  over: string | undefined
  more(events: number): void
}

const isIn = ({ start, end }: Watcher['range'], key: Uint8Array) =>
  (start === null || Buffer.compare(key, start) >= 0) && (end === null || Buffer.compare(key, end) < 0)

/**
 * Three machines with the same input: one never writes, one never drops anything from memory, one has the
 * slow disk.
 */
class Pair {
  readonly random: Random
  readonly storage = new TornStorage()
  calm!: World
  teller!: World
  torn!: World
  readonly events: EventResult[] = []
  watchers: Watcher[] = []
  #later: (() => void)[] = []

  constructor(seed: string) {
    this.random = seededRandom(seed)
  }

  async open(): Promise<void> {
    const caps = {
      events: this.random.pick([20, 100, 100_000, 100_000]),
      eventBytes: this.random.pick([20_000, 1e9]),
    }
    const never = { flushMillis: 1e9, flushBytes: 1e12, flushEventBytes: 1e12, overlayBytes: 1e12 }
    this.calm = await World.open({ limits: { ...caps, ...never } })
    this.teller = await World.open({ limits: never })
    const all = this.teller.machine.watch({ start: null, end: null }, 0, {
      events: (events) => void this.events.push(...events),
      over: (error) => {
        throw error
      },
    })
    all.more(1e9)
    const limits = {
      ...caps,
      flushMillis: 10,
      flushBytes: 30_000,
      overlayBytes: 1e12,
      flushEventBytes: 50_000,
    }
    this.torn = await World.open({
      storage: this.storage,
      limits,
      later: (run) => void this.#later.push(run),
    })
  }

  async apply(tag: number): Promise<void> {
    const { random } = this
    const commands = random.chance(0.2)
      ? Array.from({ length: 60 }, (): Command => [OP.put, null, keyOf(random), Uint8Array.of(tag)])
      : Array.from({ length: random.between(1, 6) }, () => drawCommand(random, tag))
    for (const body of commands.map(encodeCommand)) {
      if (isPlainPut(body) && random.chance(0.7)) this.torn.machine.expectPut(body)
    }
    this.#lookAhead()
    const past = random.pick([0, 0, 5, 120, 2_000])
    for (const world of [this.calm, this.torn, this.teller]) world.time += past
    const [one, other] = [await this.calm.run(...commands), await this.torn.run(...commands)]
    expect(plain(other)).toEqual(plain(one))
    await this.teller.run(...commands)
    for (let i = 0; i < 10; i++) this.teller.clock.advance(0)
    expect(this.events.at(-1)?.[0] ?? 0).toBe(this.teller.machine.revision)
  }

  /** Runs the announced read-aheads now, later, or never. */
  #lookAhead(): void {
    if (this.random.chance(0.6)) for (const run of this.#later.splice(0)) run()
  }

  read(): void {
    const { random } = this
    const key = keyOf(random)
    const reads: Read[] = [
      [READ.get, key],
      [READ.getEntry, key],
      [READ.contains, key],
      [READ.multiGet, [key, keyOf(random)]],
    ]
    const read = random.pick(reads)
    if (random.chance(0.7)) this.torn.machine.expect(random.chance(0.8) ? read : [READ.get, keyOf(random)])
    this.#lookAhead()
    if (random.chance(0.8))
      expect(plain(this.torn.machine.read(read))).toEqual(plain(this.calm.machine.read(read)))
  }

  watch(): void {
    const { random } = this
    const bound = () => (random.chance(0.2) ? null : keyOf(random))
    const range = { start: bound(), end: bound() }
    const from = random.chance(0.5)
      ? this.torn.machine.revision + 1
      : Math.max(1, this.torn.machine.revision - random.between(0, 60))
    const watcher: Watcher = { range, from, told: [], upTo: from - 1, over: undefined, more: () => {} }
    try {
      const watch = this.torn.machine.watch(range, from, {
        events: (events, upTo) => {
          watcher.told.push(...events)
          expect(upTo).toBeGreaterThanOrEqual(watcher.upTo)
          watcher.upTo = upTo
        },
        over: (error) => {
          watcher.over = error.code
        },
      })
      watcher.more = (events) => watch.more(events)
    } catch (error) {
      expect((error as { code: string }).code).toBe('ERR_COMPACTED')
      return
    }
    this.watchers.push(watcher)
  }

  /** For each revision up to the last one reported: all events of its range were sent, and no others. */
  judgeWatchers(): void {
    for (const { range, from, told, upTo } of this.watchers) {
      const due = this.events.filter(
        ([revision, , key]) => revision >= from && revision <= upTo && isIn(range, key),
      )
      expect(told.map(plain)).toEqual(due.map(plain))
    }
  }

  /** No row of events is left of a revision that is not kept. */
  judgeRows(): void {
    const { disk } = this.storage
    const { floor } = decodeMeta(disk.live?.rows.get(binary(META_KEY)) as Uint8Array).events
    const revisions = disk.keys().flatMap((key) => (key[0] === SPACE.events ? [numberIn(key, 1)] : []))
    expect(Math.min(...revisions, floor)).toBeGreaterThanOrEqual(floor - (floor % GROUP))
  }

  async restart(): Promise<void> {
    const { random } = this
    if (random.chance(0.5)) {
      this.storage.becalm()
      await this.torn.machine.close()
    } else this.storage.die(random.pick(['kept', 'lost'] as const))
    this.judgeWatchers()
    this.watchers = []
    this.#later = []
    this.storage.calm = true
    await this.torn.reopen()
    expect(this.torn.machine.stateHash().spaces).toEqual(this.calm.machine.stateHash().spaces)
  }

  async step(tag: number): Promise<void> {
    const { random } = this
    const chance = random.between(0, 100)
    if (chance < 35) await this.apply(tag)
    else if (chance < 65) this.read()
    else if (chance < 70) this.watch()
    else if (chance < 75)
      this.watchers[random.between(0, this.watchers.length + 1)]?.more(random.between(1, 60))
    else if (chance < 80) this.torn.clock.advance(random.pick([0, 0, 12]))
    else if (chance < 82) this.storage.calm = !this.storage.calm
    else if (chance < 97) this.storage.letGo()
    else if (chance < 98) await this.restart()
    for (let i = random.between(0, 6); i > 0; i--) await Promise.resolve()
  }
}

test('the same answers, the same events, the same state', async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const pair = new Pair(`hostile ${seed}`)
    await pair.open()
    for (let step = 0; step < 500; step++) {
      await pair.step(step % 256).catch((error: Error) => {
        throw new Error(`seed ${seed}, step ${step}: ${error.message}`, { cause: error })
      })
    }
    pair.storage.becalm()
    for (const watcher of pair.watchers) watcher.more(1e6)
    for (let i = 0; i < 5; i++) pair.torn.clock.advance(0)
    pair.judgeWatchers()
    const { revision } = pair.torn.machine
    for (const { over, upTo } of pair.watchers)
      if (over === undefined) expect(upTo).toBeGreaterThan(revision - 2_000)
    await pair.torn.machine.flush()
    expect(pair.torn.machine.stateHash()).toEqual(pair.calm.machine.stateHash())
    await pair.torn.machine.close()
    pair.judgeRows()
  }
}, 120_000)
