// Test: random commands give the same answers as a simple model, which has only the holder with its deadline
// and the waiters.

import assert from 'node:assert/strict'
import { binary, utf8 } from '@latchkey/base'
import { OWNER_CODES, type OwnerResult, renewedOwners } from '@latchkey/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { askCommand } from '../testing/lock-test-commands.js'
import { MapTransaction } from '../testing/map-transaction.js'
import { renew, tryLock } from './acquire.js'
import { overAt } from './hold-checks-and-answers.js'
import { ticketOf } from './lock-reads.js'
import { cancelWait, forceRelease, release } from './release.js'

type Deed =
  | { do: 'ask'; key: number; who: number; lease: number; wait: number | null; keep: boolean; stale: boolean }
  | { do: 'release'; key: number; who: number; all: boolean; stale: boolean }
  | { do: 'renew'; key: number; who: number; lease: number }
  | { do: 'cancel'; key: number; who: number }
  | { do: 'force'; key: number; stale: boolean }
  | { do: 'idle' }
  | { do: 'end'; who: number }
interface Step {
  readonly after: number
  readonly deed: Deed
}

const key = fc.nat(1)
const who = fc.nat(3)
const lease = fc.integer({ min: 50, max: 300 })
const stale = fc.boolean()
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      key,
      who,
      lease,
      wait: fc.option(fc.integer({ min: 0, max: 400 })),
      keep: fc.boolean(),
      stale,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('release' as const), key, who, all: fc.boolean(), stale }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew' as const), key, who, lease }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), key, who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('force' as const), key, stale }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('idle' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), who }) },
)
const steps = fc.array(fc.record({ after: fc.nat(120), deed }), { minLength: 1, maxLength: 60 })

/**
 * The simple model of one lock: its holder and its queue. It is given the real tokens, to check that they
 * only grow.
 */
class Naive {
  holder: { who: string; count: number; until: number; ran: boolean } | undefined
  line: { who: string; until: number; lease: number }[] = []
  now = 0

  advance(now: number): void {
    this.now = now
    this.line = this.line.filter(({ until }) => until === 0 || now <= until)
    if (this.holder && now > this.holder.until) {
      this.holder.ran = true
      this.next()
    }
  }
  next(): void {
    const first = this.line.shift()
    if (first) this.holder = { who: first.who, count: 1, until: this.now + first.lease, ran: false }
  }
  free(): void {
    this.holder = undefined
    this.next()
  }
  ask(who: string, lease: number, wait: number | null, keep: boolean): string {
    const { holder } = this
    if (!holder || holder.ran) {
      if (keep) return 'KEEP_LEASE_FAIL'
      this.holder = { who, count: 1, until: this.now + lease, ran: false }
      return holder ? 'NEW_ACQUIRE' : 'FIRST_TIME'
    }
    if (holder.who !== who) {
      if (wait !== null && !keep) this.join(who, lease, wait)
      return 'HELD'
    }
    holder.until = Math.max(holder.until, this.now + lease)
    if (!keep) holder.count++
    return keep ? 'KEEP_LEASE' : 'REENTRANT'
  }
  join(who: string, lease: number, wait: number): void {
    const until = wait === 0 ? 0 : this.now + wait
    const mine = this.line.find((place) => place.who === who)
    if (mine === undefined) this.line.push({ who, until, lease })
    else {
      mine.until = mine.until === 0 || until === 0 ? 0 : Math.max(mine.until, until)
      mine.lease = lease
    }
  }
  release(who: string, all: boolean): string {
    const { holder } = this
    if (!holder) return 'NOT_HELD'
    if (holder.who !== who) return 'NOT_OWNER'
    if (holder.ran) {
      this.holder = undefined
      return 'EXPIRED'
    }
    if (!all && holder.count > 1) {
      holder.count--
      return 'DECREMENTED'
    }
    this.free()
    return 'RELEASED'
  }
}

const pair = (real: unknown, naive: unknown): [unknown, unknown] => [real, naive]
const name = (who: number) => `p${who}`
const keyOf = (index: number) => utf8(`key${index}`)

class Run {
  readonly tx = new MapTransaction()
  readonly models = [new Naive(), new Naive()]
  checks = 0
  #given = new Set<number>()
  #tokens = new Map<string, number>()

  constructor() {
    // The sessions live longer than every lease. touchBy is then the deadline itself, and the model does not
    // need it.
    for (let who = 0; who < 4; who++) this.tx.openSession(who + 1, 1_000_000)
  }

  step({ after, deed }: Step): void {
    const now = this.tx.now + after
    for (const model of this.models) model.advance(now)
    const session = 'who' in deed ? deed.who + 1 : 0
    const [real, naive] = this.tx.entry(now, session, () => this.both(deed))
    assert.deepEqual(real, naive)
    this.laws()
  }

  both(deed: Deed): [unknown, unknown] {
    const { tx } = this
    if (deed.do === 'idle') return [0, 0]
    if (deed.do === 'end') return this.end(deed.who)
    const k = keyOf(deed.key)
    const model = this.models[deed.key] as Naive
    const row = tx.hold(k)
    if (deed.do === 'force') {
      const expected = !deed.stale && model.holder !== undefined && !model.holder.ran
      if (expected) model.free()
      return [forceRelease(tx, k, (row?.token ?? 1) + (deed.stale ? 1 : 0)), expected]
    }
    return this.bySomebody(deed, model, k, row?.token ?? 0)
  }

  bySomebody(
    deed: Exclude<Deed, { do: 'force' | 'idle' | 'end' }>,
    model: Naive,
    k: Uint8Array,
    token: number,
  ) {
    const { tx } = this
    const me = name(deed.who)
    // A request with a stale token comes from an acquirer that is not the holder, but it never queues behind
    // a hold of its own id.
    const strange = 'stale' in deed && deed.stale && model.holder?.who === me
    const sent = strange ? token + 1000 : 0
    if (deed.do === 'ask') {
      const as = strange && model.holder?.ran === false ? `${me} under an old token` : me
      const command = askCommand(me, { ...deed, key: k, keepLease: deed.keep, token: sent })
      const [owner] = tryLock(tx, deed.who + 1, command) as [OwnerResult, boolean]
      return pair(OWNER_CODES[owner[6]], model.ask(as, deed.lease, as === me ? deed.wait : null, deed.keep))
    }
    if (deed.do === 'release') {
      const [, , , , , , code] = release(tx, k, me, sent, deed.all)
      return pair(OWNER_CODES[code], model.release(strange ? `${me} under an old token` : me, deed.all))
    }
    if (deed.do === 'cancel') return this.cancel(model, k, me)
    const list = [[k, me, 0, deed.lease]] as const
    const [owner] = renewedOwners(list, renew(tx, list))
    return pair(owner && OWNER_CODES[owner[6]], model.ask(me, deed.lease, null, true))
  }

  cancel(model: Naive, k: Uint8Array, me: string): [unknown, unknown] {
    const queued = model.line.some((place) => place.who === me)
    const before = queued ? 'queued' : this.heldBy(model, me) ? 'granted' : 'unknown'
    if (queued) model.line = model.line.filter((place) => place.who !== me)
    else if (model.holder?.who === me) model.release(me, true)
    return [cancelWait(this.tx, k, me)[0], before]
  }

  heldBy(model: Naive, me: string): boolean {
    return model.holder?.who === me && !model.holder.ran
  }

  end(who: number): [unknown, unknown] {
    this.tx.end(who + 1)
    for (const model of this.models) model.line = model.line.filter((place) => place.who !== name(who))
    this.tx.openSession(who + 1, 1_000_000)
    return [0, 0]
  }

  /** Checked after every entry. */
  laws(): void {
    this.models.forEach((model, index) => {
      const k = keyOf(index)
      const row = this.tx.hold(k)
      assert.deepEqual(
        row && [row.id, row.acquires, row.deadline, this.tx.now > overAt(row)],
        model.holder && [model.holder.who, model.holder.count, model.holder.until, model.holder.ran],
      )
      const queue = this.tx.queue(k)
      assert.deepEqual(
        queue.map(({ id, deadline }) => [id, deadline]),
        model.line.map(({ who, until }) => [who, until]),
      )
      if (queue.length > 0)
        assert.ok(row && this.tx.now <= overAt(row), 'a queue only behind a hold in force')
      if (row) assert.equal(this.tx.waiter(k, row.id), undefined, 'nobody stands in line behind itself')
      this.tokenLaw(k, row?.token)
      for (const { id } of queue) assert.equal(ticketOf(this.tx, k, id)[0], 'queued')
      this.checks++
    })
  }

  tokenLaw(k: Uint8Array, token: number | undefined): void {
    const known = this.#tokens.get(binary(k))
    if (token === undefined || token === known) return
    assert.ok(token > (known ?? 0), 'tokens grow')
    assert.ok(!this.#given.has(token), 'a token is never used twice')
    this.#given.add(token)
    this.#tokens.set(binary(k), token)
  }
}

test('random sequences: the rules and the simple model agree, and the laws hold after every entry', () => {
  let checks = 0
  const runs = fc.check(
    fc.property(steps, (sequence) => {
      const run = new Run()
      for (const step of sequence) run.step(step)
      checks += run.checks
    }),
    { numRuns: 1_000 },
  )
  expect(runs.failed, fc.defaultReportMessage(runs)).toBe(false)
  expect(checks).toBeGreaterThan(10_000)
})
