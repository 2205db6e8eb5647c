// Driver: random flows that take several locks one after another. The cluster must refuse a request exactly
// if the request would complete a circle of flows that wait for each other (docs/locks.md, section 13).

import assert from 'node:assert/strict'
import { nextTurn } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'
import type { World } from './random-lock-and-semaphore-calls.js'

interface Request {
  readonly flow: string
  readonly key: string
}
interface Asked extends Request {
  readonly abort: AbortController
  hold?: { release(): Promise<void> }
  code?: string
  circle?: readonly { flow: string; key: unknown }[]
}

const FLOWS = ['F', 'G', 'H', 'I', 'J']
const KEYS = ['a', 'b', 'c', 'd']
const TURNS = 400

/** The model: the holds, and the waiters in the order of their arrival. */
class FlowModel {
  held: Request[] = []
  line: Request[] = []

  /**
   * Returns the flows for which a request for that key waits. If the request already is in the queue,
   * `before` is this request, and only earlier waiters count.
   */
  #inTheWay(key: string, before?: Request): string[] {
    const ahead = before === undefined ? this.line : this.line.slice(0, this.line.indexOf(before))
    return [...this.held, ...ahead].filter((one) => one.key === key).map(({ flow }) => flow)
  }

  /** Returns whether the flow of the request would wait for itself, perhaps through other flows. */
  isCircle({ flow, key }: Request): boolean {
    const met = new Set<string>()
    const toMeet = this.#inTheWay(key)
    for (let next = toMeet.pop(); next !== undefined; next = toMeet.pop()) {
      if (met.has(next)) continue
      met.add(next)
      const waits = this.line.find((one) => one.flow === next)
      if (waits !== undefined) toMeet.push(...this.#inTheWay(waits.key, waits))
    }
    return met.has(flow)
  }

  ask(one: Request): void {
    if (this.isCircle(one)) return
    if (this.#inTheWay(one.key).length === 0) this.held.push(one)
    else this.line.push(one)
  }

  leave(one: Request): void {
    this.line = this.line.filter((other) => other !== one)
    this.held = this.held.filter((other) => other !== one)
    const next = this.line.find(({ key }) => key === one.key)
    if (next === undefined || this.held.some(({ key }) => key === one.key)) return
    this.line = this.line.filter((other) => other !== next)
    this.held.push(next)
  }
}

export class FlowRun {
  readonly #model = new FlowModel()
  readonly #world: World
  #asked: Asked[] = []

  constructor(world: World) {
    this.#world = world
  }

  async step(): Promise<boolean> {
    const { random } = this.#world
    const flow = random.pick(FLOWS)
    const waits = this.#model.line.find((one) => one.flow === flow)
    const mine = this.#asked.filter((one) => one.flow === flow && one.hold !== undefined)
    if (waits !== undefined) {
      if (random.chance(0.3)) this.#abort(waits as Asked)
    } else if (mine.length > 0 && random.chance(0.35)) await this.#release(random.pick(mine))
    else this.#ask(flow, random.pick(KEYS))
    await this.#compare()
    return true
  }

  async end(): Promise<void> {
    for (const { abort } of this.#asked) abort.abort()
    for (const { hold } of this.#asked) await hold?.release()
  }

  #ask(flow: string, key: string): void {
    const { stores, prefix } = this.#world
    // The cluster finds a circle of one flow with itself only within one session, so each flow always uses
    // the same store.
    const store = stores[FLOWS.indexOf(flow) % stores.length] as (typeof stores)[number]
    const one: Asked = { flow, key, abort: new AbortController() }
    this.#asked.push(one)
    this.#model.ask(one)
    // The name of a flow is known in the whole cluster, so each run puts its own prefix before it.
    const terms = { flow: `${prefix}${flow}`, lease: '1h', renew: false, signal: one.abort.signal } as const
    store.locks.acquire(`${prefix}${key}`, terms).then(
      (hold) => {
        one.hold = hold
        this.#world.count('held')
      },
      (error: unknown) => {
        one.code = isLatchkeyError(error) ? error.code : String(error)
        this.#world.count(one.code)
        if (isLatchkeyError(error)) one.circle = error.circle as NonNullable<Asked['circle']>
      },
    )
  }

  async #release(one: Asked): Promise<void> {
    this.#model.leave(one)
    this.#asked = this.#asked.filter((other) => other !== one)
    await one.hold?.release()
  }

  #abort(one: Asked): void {
    this.#model.leave(one)
    this.#asked = this.#asked.filter((other) => other !== one)
    one.abort.abort()
  }

  async #compare(): Promise<void> {
    for (let turns = 0; ; turns++) {
      const rows = await this.#world.random.pick(this.#world.stores).locks.query(this.#world.prefix, {
        queue: true,
        as: 'string',
      })
      const queued = rows.reduce((sum, { queue = [] }) => sum + queue.length, 0)
      const real = [rows.length, queued, this.#asked.map((one) => [one.flow, one.key, answerOf(one)])]
      const { held, line } = this.#model
      const expected = [
        held.length,
        line.length,
        this.#asked.map((one) => [one.flow, one.key, this.#expected(one)]),
      ]
      if (JSON.stringify(real) === JSON.stringify(expected)) break
      if (turns === TURNS) assert.deepEqual(real, expected)
      await new Promise<void>((resolve) => nextTurn(resolve))
    }
    for (const one of this.#asked) if (one.circle !== undefined) this.#checkCircle(one, one.circle)
    this.#asked = this.#asked.filter(({ code }) => code === undefined)
  }

  #expected(one: Asked): string {
    if (this.#model.held.includes(one)) return 'held'
    return this.#model.line.includes(one) ? 'waits' : 'ERR_DEADLOCK'
  }

  /**
   * Checks the circle in the error. The circle must begin with the refused request, and each flow of the
   * circle must wait for the key that the error names.
   */
  #checkCircle({ flow, key }: Asked, circle: NonNullable<Asked['circle']>): void {
    this.#world.count(
      circle.length === 1 ? 'circle of one' : circle.length === 2 ? 'circle of two' : 'circle of more',
    )
    const { prefix } = this.#world
    const [first, ...others] = circle.map((link) => ({
      flow: link.flow.slice(prefix.length),
      key: String(link.key).slice(prefix.length),
    }))
    assert.deepEqual(first, { flow, key })
    for (const link of others)
      assert.ok(this.#model.line.some((one) => one.flow === link.flow && one.key === link.key))
  }
}

const answerOf = ({ hold, code }: Asked): string => (hold !== undefined ? 'held' : (code ?? 'waits'))
