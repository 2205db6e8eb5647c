// Test: random steps of shared holds, exclusive holds and permits give the same results as a model with an
// array and a loop.

import { utf8 } from '@latchkey/base'
import { KIND, type ShareArg, lockKeyOf } from '@latchkey/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { K, askCommand } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { tryLock } from './acquire.js'
import { downgrade } from './downgrade-proclaim-rotate.js'
import { cancelWait, release } from './release.js'

const world = (): MapTransaction => {
  const tx = new MapTransaction()
  tx.openSession(1, 60_000)
  return tx
}

/**
 * The model: the holders and the queue as plain arrays. Tokens are not in it; the test checks that they only
 * grow.
 */
class Model {
  now = 0
  holders: { id: string; permits: number; until: number; count: number }[] = []
  line: { id: string; permits: number; until: number; lease: number }[] = []
  most: number

  constructor(most: number) {
    this.most = most
  }

  advance(now: number): void {
    this.now = now
    this.line = this.line.filter(({ until }) => until === 0 || now <= until)
    this.holders = this.holders.filter(({ until }) => now <= until)
    this.settle()
  }
  fits(permits: number): boolean {
    if (permits === 0) return this.holders.length === 0
    if (this.holders.some((holder) => holder.permits === 0)) return false
    return this.holders.reduce((sum, holder) => sum + holder.permits, permits) <= this.most
  }
  settle(): void {
    for (;;) {
      const [first] = this.line
      if (first === undefined || !this.fits(first.permits)) return
      this.line.shift()
      this.holders.push({ id: first.id, permits: first.permits, until: this.now + first.lease, count: 1 })
    }
  }
  ask(id: string, permits: number, lease: number, wait: number | null): void {
    const own = this.holders.find((holder) => holder.id === id)
    if (own !== undefined) {
      if (own.permits !== permits) return
      own.until = Math.max(own.until, this.now + lease)
      own.count++
    } else if (this.line.length === 0 && this.fits(permits))
      this.holders.push({ id, permits, until: this.now + lease, count: 1 })
    else if (wait !== null) this.join(id, permits, lease, wait)
  }
  join(id: string, permits: number, lease: number, wait: number): void {
    const until = wait === 0 ? 0 : this.now + wait
    const mine = this.line.find((one) => one.id === id)
    if (mine === undefined) {
      this.line.push({ id, permits, until, lease })
      return
    }
    mine.until = mine.until === 0 || until === 0 ? 0 : Math.max(mine.until, until)
    mine.lease = lease
  }
  release(id: string, all: boolean): void {
    const own = this.holders.find((holder) => holder.id === id)
    if (own === undefined) return
    if (!all && --own.count > 0) return
    this.holders = this.holders.filter((holder) => holder !== own)
    this.settle()
  }
  cancel(id: string): void {
    if (this.line.some((one) => one.id === id)) this.line = this.line.filter((one) => one.id !== id)
    else this.release(id, true)
    this.settle()
  }
  downgrade(id: string): void {
    const own = this.holders.find((holder) => holder.id === id)
    if (own?.permits === 0) own.permits = 1
    this.settle()
  }
  state(): unknown {
    const held = this.holders.map(({ id, permits, until, count }) => [id, permits, until, count])
    return [held, this.line.map(({ id, permits }) => [id, permits])]
  }
}

const step = fc.record({
  after: fc.nat(80),
  what: fc.constantFrom('ask', 'ask', 'ask', 'ask', 'release', 'release', 'cancel', 'downgrade', 'idle'),
  who: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  permits: fc.nat(3),
  lease: fc.integer({ min: 50, max: 300 }),
  wait: fc.option(fc.nat(400)),
  all: fc.boolean(),
})
type RandomStep = typeof step extends fc.Arbitrary<infer T> ? T : never
const MOST = 4

function perform(tx: MapTransaction, model: Model, key: Uint8Array, one: RandomStep): void {
  const { who, lease, wait, all } = one
  const isSemaphore = key !== K
  const permits = isSemaphore ? Math.max(1, one.permits) : Math.min(1, one.permits)
  if (one.what === 'ask') {
    const share: ShareArg | undefined = permits === 0 ? undefined : [permits, isSemaphore ? MOST : 0]
    const options = { key, lease, wait, ...(share === undefined ? {} : { share }) }
    tryLock(tx, 1, askCommand(who, options))
    model.ask(who, permits, lease, wait)
  } else if (one.what === 'release') {
    release(tx, key, who, 0, all)
    model.release(who, all)
  } else if (one.what === 'cancel') {
    cancelWait(tx, key, who)
    model.cancel(who)
  } else if (one.what === 'downgrade' && !isSemaphore) {
    downgrade(tx, key, who, 0)
    model.downgrade(who)
  }
}

function stateOf(tx: MapTransaction, key: Uint8Array): unknown {
  const exclusive = tx.hold(key)
  const rows = [
    ...(exclusive !== undefined && tx.now <= exclusive.deadline ? [exclusive] : []),
    ...tx.sharedOf(key),
  ]
  const held = rows.map(({ id, permits, deadline, acquires }) => [id, permits, deadline, acquires])
  return [held, tx.queue(key).map(({ id, permits }) => [id, permits])]
}

test.each([
  ['a lock', K, Number.POSITIVE_INFINITY],
  ['a semaphore', lockKeyOf(KIND.semaphore, utf8('s')), MOST],
])('%s does what the model does, in 100,000 random steps', (_, key, most) => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
      const tx = world()
      const model = new Model(most)
      let now = 0
      let lastExclusive = 0
      for (const one of steps) {
        now += one.after
        tx.entry(now, 1, () => {
          model.advance(now)
          perform(tx, model, key, one)
        })
        expect(stateOf(tx, key)).toEqual(model.state())
        const [held] = [tx.hold(key)]
        if (held !== undefined && held.token !== lastExclusive) {
          for (const { token } of tx.sharedOf(key)) expect(token).toBeLessThan(held.token)
          lastExclusive = held.token
        }
      }
    }),
    { numRuns: 2_500 },
  )
})
