// Test: sets of locks: the table of acquire-all.ts, which callers may overtake a waiting set, and random
// steps compared with a model of plain arrays.

import { utf8 } from '@latchkey/base'
import { OP, OWNER_CODES, type OwnerResult, type CommandOf } from '@latchkey/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ask, askCommand } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { tryLock } from './acquire.js'
import { tryLockAll } from './acquire-all.js'
import { ticketOf } from './lock-reads.js'
import { cancelWait, forceRelease, release, releaseAll } from './release.js'

const world = (): MapTransaction => {
  const tx = new MapTransaction()
  for (const session of [1, 2]) tx.openSession(session, 60_000)
  return tx
}
const [A, B, C] = ['a', 'b', 'c'].map(utf8) as [Uint8Array, Uint8Array, Uint8Array]
type Mode = 0 | 1
interface Wish {
  readonly modes?: readonly Mode[]
  readonly wait?: number | null
  readonly lease?: number
  readonly session?: number
}
const wish = (id: string, keys: readonly Uint8Array[], { modes = [], wait = 0, lease = 1_000 }: Wish) =>
  [OP.tryLockAll, id, keys.map((key, i) => [key, modes[i] ?? 0] as const), null, lease, null, wait] as const
const askAll = (tx: MapTransaction, id: string, keys: readonly Uint8Array[], more: Wish = {}) =>
  tryLockAll(tx, more.session ?? 1, wish(id, keys, more) as CommandOf<'tryLockAll'>) as Exclude<
    ReturnType<typeof tryLockAll>,
    string
  >
const stateOf = (tx: MapTransaction, id: string, keys: readonly Uint8Array[]) =>
  askAll(tx, id, keys, { wait: null })[0]
const one = (tx: MapTransaction, id: string, key: Uint8Array, wait: number | null = null) =>
  tryLock(tx, 1, askCommand(id, { key, wait })) as [OwnerResult, boolean]
const holds = (tx: MapTransaction, id: string, key: Uint8Array) => ticketOf(tx, key, id)[0]
const codeOf = (owner: OwnerResult | undefined) => OWNER_CODES[owner?.[6] ?? -1]

describe('K80: a set of locks, all or none', () => {
  test('free: every key is held at once, each with a token of its own', () => {
    const tx = world()
    const [state, owners] = askAll(tx, 's', [A, B, C])
    expect([state, owners.map((owner) => [codeOf(owner), owner[3]])]).toEqual([
      'held',
      [1, 2, 3].map((token) => ['FIRST_TIME', token]),
    ])
    expect(codeOf(one(tx, 'x', B)[0])).toBe('HELD')
  })

  test('one key is not free: nothing is held; without a wait nothing waits, with one a place at every key', () => {
    const tx = world()
    one(tx, 'x', B)
    const [state, owners] = askAll(tx, 's', [A, B], { wait: null })
    expect([state, owners.map(([id]) => id)]).toEqual(['refused', ['x']])
    expect([A, B].map((key) => tx.queue(key).length)).toEqual([0, 0])
    expect(askAll(tx, 's', [A, B])).toEqual(['queued', []])
    expect([A, B].map((key) => holds(tx, 's', key))).toEqual(['queued', 'queued'])
    expect(tx.hold(A)).toBeUndefined()
  })

  test('granted in one entry, and pushed for every key', () => {
    const tx = world()
    one(tx, 'x', B)
    askAll(tx, 's', [A, B, C], { session: 2 })
    tx.entry(10, 1, () => release(tx, B, 'x', 0, false))
    expect(tx.grants.map(({ id, touchBy }) => [id, touchBy])).toEqual(
      Array.from({ length: 3 }, () => ['s', 1_010]),
    )
    expect(new Set(tx.grants.map(({ token }) => token)).size).toBe(3)
  })

  test('asked again: the same places, then the same holds with their leases anew', () => {
    const tx = world()
    one(tx, 'x', B)
    askAll(tx, 's', [A, B])
    const places = [A, B].map((key) => tx.waiter(key, 's')?.arrival)
    expect(askAll(tx, 's', [A, B], { session: 2 })[0]).toBe('queued')
    expect([A, B].map((key) => tx.waiter(key, 's')?.arrival)).toEqual(places)
    expect([A, B].map((key) => tx.waiter(key, 's')?.session)).toEqual([2, 2])
    tx.entry(10, 1, () => release(tx, B, 'x', 0, false))
    const tokens = tx.grants.map(({ token }) => token)
    const [state, owners] = tx.entry(500, 2, () => askAll(tx, 's', [A, B], { session: 2 }))
    expect([state, owners.map((owner) => [owner[1], owner[3]])]).toEqual([
      'held',
      tokens.map((token) => [1_500, token]),
    ])
  })

  test('a part has ended: broken, and nothing is taken again', () => {
    const tx = world()
    askAll(tx, 's', [A, B])
    forceRelease(tx, B, tx.hold(B)?.token ?? 0)
    expect(askAll(tx, 's', [A, B])).toEqual(['broken', []])
    expect(tx.hold(B)).toBeUndefined()
    expect(
      releaseAll(
        tx,
        [A, B].map((key) => [key, 's'] as const),
      ),
    ).toEqual([1, 0])
  })

  test.each([
    ['its wait is over', (tx: MapTransaction) => tx.tick(101)],
    ['its session ends', (tx: MapTransaction) => tx.end(2)],
    ['one place is given up', (tx: MapTransaction) => void cancelWait(tx, B, 's')],
  ])('K80: when %s the set leaves every queue, and those behind it are served', (_, ends) => {
    const tx = world()
    one(tx, 'x', B)
    askAll(tx, 's', [B, A], { wait: 100, session: 2 })
    askAll(tx, 't', [C, A], { wait: 0 })
    expect(stateOf(tx, 't', [C, A])).toBe('refused')
    ends(tx)
    expect([A, B].map((key) => holds(tx, 's', key))).toEqual(['unknown', 'unknown'])
    expect([A, C].map((key) => holds(tx, 't', key))).toEqual(['granted', 'granted'])
  })

  test('shared keys of a set stand beside readers, and let those behind in', () => {
    const tx = world()
    one(tx, 'x', B)
    askAll(tx, 's', [A, B], { modes: [1, 0] })
    ask(tx, 'r', { key: A, wait: 0, share: [1, 0] })
    release(tx, B, 'x', 0, false)
    expect([holds(tx, 's', A), holds(tx, 'r', A), holds(tx, 's', B)]).toEqual([
      'granted',
      'granted',
      'granted',
    ])
    expect(codeOf(one(tx, 'w', A)[0])).toBe('HELD')
  })
})

describe('K81: a set holds nothing that it has not got, and is not starved', () => {
  test('while somebody earlier keeps it from one key, the other keys are free for others', () => {
    const tx = world()
    one(tx, 'x', B)
    askAll(tx, 's', [A, B])
    expect(codeOf(one(tx, 'y', A)[0])).toBe('FIRST_TIME')
    expect(codeOf(one(tx, 'z', A, 0)[0])).toBe('HELD')
    release(tx, A, 'y', 0, false)
    expect(holds(tx, 'z', A)).toBe('granted')
  })

  test('once only those who came later keep it from its keys, nobody passes it any more', () => {
    const tx = world()
    one(tx, 'x', B)
    askAll(tx, 's', [A, B])
    one(tx, 'y', A)
    release(tx, B, 'x', 0, false)
    expect(codeOf(one(tx, 'z', B, 0)[0])).toBe('HELD')
    expect(codeOf(one(tx, 'v', A, 0)[0])).toBe('HELD')
    release(tx, A, 'y', 0, false)
    expect([A, B].map((key) => holds(tx, 's', key))).toEqual(['granted', 'granted'])
    releaseAll(tx, [
      [A, 's'],
      [B, 's'],
    ])
    expect([holds(tx, 'z', B), holds(tx, 'v', A)]).toEqual(['granted', 'granted'])
  })

  test('two callers in turns, each with one of the keys, do not starve it', () => {
    const tx = world()
    one(tx, 'a0', A)
    askAll(tx, 's', [A, B])
    let turns = 0
    for (; holds(tx, 's', A) !== 'granted' && turns < 10; turns++) {
      const [taken, left] = turns % 2 === 0 ? [B, A] : [A, B]
      one(tx, `${turns % 2 === 0 ? 'b' : 'a'}${turns + 1}`, taken, 0)
      for (const row of tx.all()) if (row.key === left && row.id !== 's') release(tx, left, row.id, 0, true)
    }
    expect(turns).toBeLessThan(4)
    expect([A, B].map((key) => holds(tx, 's', key))).toEqual(['granted', 'granted'])
  })

  test('sets in any order of their keys never wait for each other', () => {
    const tx = world()
    askAll(tx, 's1', [A, B])
    askAll(tx, 's2', [B, A])
    askAll(tx, 's3', [C, B])
    expect(['s2', 's3'].map((id) => holds(tx, id, B))).toEqual(['queued', 'queued'])
    releaseAll(tx, [
      [A, 's1'],
      [B, 's1'],
    ])
    expect([holds(tx, 's2', A), holds(tx, 's2', B), holds(tx, 's3', C)]).toEqual([
      'granted',
      'granted',
      'queued',
    ])
    releaseAll(tx, [
      [A, 's2'],
      [B, 's2'],
    ])
    expect([holds(tx, 's3', B), holds(tx, 's3', C)]).toEqual(['granted', 'granted'])
  })
})

interface Waiting {
  readonly id: string
  readonly wants: readonly (readonly [string, Mode])[]
  readonly isSet: boolean
  readonly arrival: number
  readonly lease: number
  readonly until: number
}

/**
 * What docs/locks.md says of sets, on plain arrays: each key where somebody has left is looked at, one after the
 * other, and there all waiters in their order.
 */
class Model {
  now = 0
  arrivals = 0
  held: { key: string; id: string; mode: Mode; arrival: number; until: number }[] = []
  line: Waiting[] = []

  fits(key: string, mode: Mode): boolean {
    const there = this.held.filter((hold) => hold.key === key)
    return mode === 0 ? there.length === 0 : there.every((hold) => hold.mode === 1)
  }
  waitsForEarlier({ wants, arrival }: Waiting): boolean {
    return wants.some(([key, mode]) => {
      const blocks = this.held.filter((hold) => hold.key === key && (mode === 0 || hold.mode === 0))
      const before = this.line.some((one) => one.arrival < arrival && one.wants.some(([of]) => of === key))
      return before || blocks.some((hold) => hold.arrival < arrival)
    })
  }
  mayPass(wants: Waiting['wants'], isSet: boolean, arrival: number): boolean {
    return wants.every(([key]) => {
      const ahead = this.line.filter((one) => one.arrival < arrival && one.wants.some(([of]) => of === key))
      return isSet
        ? ahead.length === 0
        : ahead.length <= 4 && ahead.every((set) => set.isSet && this.waitsForEarlier(set))
    })
  }
  canServe(wants: Waiting['wants'], isSet: boolean, arrival: number): boolean {
    return wants.every(([key, mode]) => this.fits(key, mode)) && this.mayPass(wants, isSet, arrival)
  }
  take(id: string, wants: Waiting['wants'], lease: number): void {
    const arrival = ++this.arrivals
    for (const [key, mode] of wants) this.held.push({ key, id, mode, arrival, until: this.now + lease })
  }
  /** At that key, where something has changed, and then where a set that was served leaves room for others. */
  settle(key: string): void {
    const keys = [key]
    for (let at = keys.pop(); at !== undefined; at = keys.pop())
      for (let next = this.next(at); next !== undefined; next = this.next(at)) {
        const { id, wants, lease, isSet } = next
        this.line = this.line.filter((one) => one !== next)
        this.take(id, wants, lease)
        if (isSet) keys.push(...wants.filter(([, mode]) => mode === 1).map(([of]) => of))
      }
  }
  next(key?: string): Waiting | undefined {
    const there = this.line.filter(({ wants }) => key === undefined || wants.some(([of]) => of === key))
    return there.find(({ wants, isSet, arrival }) => this.canServe(wants, isSet, arrival))
  }
  ask(id: string, wants: Waiting['wants'], isSet: boolean, lease: number, wait: number | null): void {
    if (this.line.some((one) => one.id === id) || this.held.some((hold) => hold.id === id)) return
    const arrival = ++this.arrivals
    if (this.canServe(wants, isSet, arrival)) this.take(id, wants, lease)
    else if (wait !== null)
      this.line.push({ id, wants, isSet, arrival, lease, until: wait === 0 ? Infinity : this.now + wait })
  }
  leave(id: string): void {
    const waited = this.line.find((one) => one.id === id)?.wants.map(([key]) => key)
    const had = KEYS.filter((key) => this.held.some((hold) => hold.key === key && hold.id === id))
    this.line = this.line.filter((one) => one.id !== id)
    this.held = this.held.filter((hold) => hold.id !== id)
    for (const key of waited ?? had) this.settle(key)
  }
  advance(now: number): void {
    this.now = now
    const tired = this.line.filter(({ until }) => now > until).sort((a, b) => a.until - b.until)
    this.line = this.line.filter(({ until }) => now <= until)
    const due = this.held.filter(({ until }) => now > until)
    due.sort((a, b) => a.until - b.until || (a.key < b.key ? -1 : a.key > b.key ? 1 : a.arrival - b.arrival))
    this.held = this.held.filter((hold) => !due.includes(hold))
    for (const { key } of due) this.settle(key)
    for (const { wants } of tired) for (const [key] of wants) this.settle(key)
  }
  state(): unknown {
    const held = this.held.map(({ key, id, mode, until }) => `${key} ${id} ${mode} ${until}`).sort()
    return [held, this.line.map(({ id }) => id).sort()]
  }
}

const KEYS = ['a', 'b', 'c', 'd']
const step = fc.record({
  after: fc.nat(60),
  what: fc.constantFrom('set', 'set', 'one', 'one', 'one', 'leave', 'leave', 'idle'),
  who: fc.nat(200),
  keys: fc.uniqueArray(fc.constantFrom(...KEYS), { minLength: 2, maxLength: 4 }),
  modes: fc.array(fc.constantFrom<Mode>(0, 0, 1), { minLength: 4, maxLength: 4 }),
  lease: fc.integer({ min: 50, max: 300 }),
  wait: fc.option(fc.nat(400)),
})

test('K80 K81: random steps: the rules serve the same callers as the model, in the same entries', () => {
  let steps = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 60, maxLength: 120 }), (all) => {
      const [tx, model] = [world(), new Model()]
      const ids: string[] = []
      let now = 1
      for (const { after, what, who, keys, modes, lease, wait } of all) {
        now += after
        model.advance(now)
        const id = `${ids.length}`
        tx.entry(now, 1, () => {
          const old = ids[who % Math.max(1, ids.length)]
          if (what === 'set') {
            ids.push(id)
            const bytes = keys.map(utf8)
            tryLockAll(tx, 1, wish(id, bytes, { modes, wait, lease }) as CommandOf<'tryLockAll'>)
            model.ask(
              id,
              keys.map((key, i) => [key, modes[i] ?? 0]),
              true,
              lease,
              wait,
            )
          } else if (what === 'one') {
            ids.push(id)
            const [key = 'a'] = keys
            const share = modes[0] === 1 ? ([1, 0] as const) : undefined
            tryLock(tx, 1, askCommand(id, { key: utf8(key), lease, wait, ...(share && { share }) }))
            model.ask(id, [[key, modes[0] ?? 0]], false, lease, wait)
          } else if (what === 'leave' && old !== undefined) {
            releaseAll(
              tx,
              KEYS.map((key) => [utf8(key), old] as const),
            )
            model.leave(old)
          }
        })
        // The owners are alive, so that each grant is valid for its whole lease.
        tx.entry(now, 1, () => {})
        steps++
        const rows = tx.all().filter(({ deadline }) => now <= deadline)
        const held = rows.map(
          ({ key, id: of, permits, deadline }) => `${Buffer.from(key)} ${of} ${permits} ${deadline}`,
        )
        const waiters = new Set(KEYS.flatMap((key) => tx.queue(utf8(key)).map((row) => row.id)))
        expect([held.sort(), [...waiters].sort()]).toEqual(model.state())
        // Only queues in which something has changed are looked at. Nobody elsewhere may wait for nothing.
        expect(model.next()).toBeUndefined()
      }
    }),
    { numRuns: 60, interruptAfterTimeLimit: 30_000 },
  )
  expect(steps).toBeGreaterThan(1_000)
})
