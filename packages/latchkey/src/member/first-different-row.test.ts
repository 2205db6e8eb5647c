// Test: two members with different states find the first row that differs, of any kind.

import { seededRandom, utf8 } from '@latchkey/base'
import { encodeBatch, KvMachine, SimulatedRowStorage, SPACE_NAMES } from '@latchkey/kv'
import { type Command, encodeCommand, OP } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { afterEach, expect, test } from 'vitest'
import type { MemberMessage } from './non-raft-member-messages.js'
import { DifferentRowSearch } from './first-different-row.js'

const MEMBERS = { voters: ['a'], outgoing: [], learners: [], learnersNext: [], peers: {} }
const KEYS = 3_000
const key = (i: number) => utf8(`key/${String(i).padStart(6, '0')}`)

/** The same entries everywhere, but for what a member with a fault makes of them. */
async function machineWith(last: readonly Command[]): Promise<KvMachine> {
  const machine = new KvMachine({
    storage: new SimulatedRowStorage(),
    clock: new ManualClock(),
    nextTurn: setImmediate,
  })
  await machine.open()
  let index = 0
  const apply = (session: number, number: number, command: Command) => {
    const record = { session, number, done: number, body: encodeCommand(command) }
    const data = encodeBatch([record])
    return machine.apply([{ index: ++index, term: 1, time: 1_000, kind: 'commands', data }], () => MEMBERS)
  }
  await apply(0, 0, [OP.openSession, 30_000])
  const pairs = Array.from({ length: KEYS }, (_, i) => [key(i), utf8('value')] as const)
  await apply(1, 1, [OP.putAll, null, pairs])
  for (const [i, command] of last.entries()) await apply(1, 2 + i, command)
  return machine
}

const machines: KvMachine[] = []
afterEach(async () => {
  for (const machine of machines.splice(0)) await machine.close()
})

interface Seen {
  readonly found: unknown[]
  readonly messages: MemberMessage[]
  readonly looked: boolean
}

async function searchBetween(here: readonly Command[], there: readonly Command[]): Promise<Seen> {
  const [a, b] = [await machineWith(here), await machineWith(there)]
  machines.push(a, b)
  const { index } = a.position
  const found: unknown[] = []
  const messages: MemberMessage[] = []
  const clock = new ManualClock()
  const make = (kv: KvMachine, other: () => DifferentRowSearch, name: string) =>
    new DifferentRowSearch({
      clock,
      random: seededRandom(1),
      freeze: (at) => kv.digestAt(at),
      send: (_, message) => {
        messages.push(message)
        if (message.kind === 'compare') void other().asked(name, message)
        else other().answered(name, message)
      },
      found: (_, __, difference) => found.push(difference),
    })
  const mine: DifferentRowSearch = make(a, () => theirs, 'a')
  const theirs: DifferentRowSearch = make(b, () => mine, 'b')
  const [own, others] = [a.stateHash().spaces, b.stateHash().spaces]
  const spaces = SPACE_NAMES.filter((name) => own[name] !== others[name] && name !== 'meta')
  const looked = await mine.search('b', index, spaces)
  mine.close()
  theirs.close()
  expect(clock.armed).toBe(0)
  return { found, messages, looked }
}

const put = (i: number, value: string): Command => [OP.put, null, key(i), utf8(value)]
const gone = (i: number): Command => [OP.deleteAll, null, [key(i)]]
const ofData = ({ found }: Seen) => found.filter((one) => (one as { space: string }).space === 'data')

test('another value, a row too many, a row too few: the first key is named', async () => {
  for (const i of [0, 29, 30, 999, 1_000, 1_001, KEYS - 1]) {
    const name = `data ${JSON.stringify(`key/${String(i).padStart(6, '0')}`)}`
    const other = await searchBetween([put(i, 'right')], [put(i, 'wrong')])
    expect(ofData(other)).toEqual([{ space: 'data', key: name, what: 'it is another one there' }])
    const less = await searchBetween([put(KEYS, 'x')], [gone(i)])
    expect(ofData(less)).toEqual([{ space: 'data', key: name, what: 'it is only here' }])
    const more = await searchBetween([gone(i)], [put(KEYS, 'x')])
    expect(ofData(more)).toEqual([{ space: 'data', key: name, what: 'it is only there' }])
  }
})

test('of many differences the first, and few questions', async () => {
  const random = seededRandom('search')
  for (let round = 0; round < 5; round++) {
    const at = Array.from({ length: 5 }, () => random.between(0, KEYS))
    const seen = await searchBetween(
      at.map((i) => put(i, 'right')),
      at.map((i) => put(i, 'wrong')),
    )
    const first = String(Math.min(...at)).padStart(6, '0')
    expect(ofData(seen)).toEqual([
      { space: 'data', key: `data "key/${first}"`, what: 'it is another one there' },
    ])
    expect(seen.messages.length).toBeLessThan(2 * (4 + 35 + 31) + 20)
  }
})

test('a lock that only one of them knows is named, as everything that hangs on it', async () => {
  const lock: Command = [OP.tryLock, utf8('l'), null, false, 'me', 1_000, 0, null, null]
  const { found } = await searchBetween([lock], [put(3, 'x')])
  expect(found).toContainEqual({ space: 'holds', key: 'holds "l"', what: 'it is only here' })
  expect(found).toContainEqual({
    space: 'counters',
    key: "counters, the store's own",
    what: 'it is only here',
  })
  expect(found).toContainEqual({ space: 'replies', key: 'replies 1/2', what: 'it is another one there' })
  expect(found).toContainEqual({ space: 'events', key: 'events 0/0', what: 'it is another one there' })
})

test('only one search with each member runs at a time', async () => {
  const machine = await machineWith([])
  machines.push(machine)
  const asked: string[] = []
  const search = new DifferentRowSearch({
    clock: new ManualClock(),
    random: seededRandom(1),
    freeze: (at) => machine.digestAt(at),
    send: (to) => asked.push(to),
    found: () => {},
  })
  const { index } = machine.position
  const running = [search.search('b', index, ['data']), search.search('c', index, ['data'])]
  expect(await search.search('b', index, ['data'])).toBe(false)
  await expect.poll(() => asked).toEqual(['b', 'c'])
  search.close()
  expect(await Promise.all(running)).toEqual([false, false])
})

test('one that went on, or does not answer: nothing is claimed', async () => {
  const [a, b] = [await machineWith([put(1, 'right')]), await machineWith([put(1, 'wrong'), put(2, 'x')])]
  machines.push(a, b)
  const found: unknown[] = []
  const clock = new ManualClock()
  const theirs: DifferentRowSearch = new DifferentRowSearch({
    clock,
    random: seededRandom(1),
    freeze: (at) => b.digestAt(at),
    send: (_, message) => message.kind === 'compared' && mine.answered('b', message),
    found: (...words) => found.push(words),
  })
  const mine: DifferentRowSearch = new DifferentRowSearch({
    clock,
    random: seededRandom(1),
    freeze: (at) => a.digestAt(at),
    send: (to, message) => to === 'b' && message.kind === 'compare' && void theirs.asked('a', message),
    found: (...words) => found.push(words),
  })
  const { index } = a.position
  expect(await mine.search('b', index, ['data'])).toBe(false)
  const silent = mine.search('c', index, ['data'])
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(11_000)
  expect(await silent).toBe(false)
  clock.advance(60_000)
  expect([found, clock.armed]).toEqual([[], 0])
})

test('a closed search keeps no view, asks nobody and answers nobody', async () => {
  const clock = new ManualClock()
  const sent: MemberMessage[] = []
  let [frozen, closed] = [0, 0]
  const search = new DifferentRowSearch({
    clock,
    random: seededRandom(1),
    freeze: async () => {
      frozen++
      return { digest: async () => ({ sum: 1, last: undefined }), close: () => void closed++ } as never
    },
    send: (_, message) => void sent.push(message),
    found: () => {},
  })
  const looking = search.search('b', 7, ['data'])
  await new Promise((resolve) => setImmediate(resolve))
  expect([frozen, sent.length]).toEqual([1, 1])
  search.close()
  expect(await looking).toBe(false)
  await search.asked('b', { kind: 'compare', id: 1, index: 7, space: 'data', rows: 1 } as never)
  expect(await search.hold(7)).toBeUndefined()
  expect([frozen, closed, sent.length, clock.armed]).toEqual([1, 1, 1, 0])
})
