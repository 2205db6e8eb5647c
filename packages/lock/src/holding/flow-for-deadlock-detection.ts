// Rule: finds the flow to which a request for a lock belongs. A flow is work that takes its locks one at a
// time. The name that the caller gives, and the holds of withLock around the call, determine the flow
// (docs/locks.md, section 13).

import { AsyncLocalStorage } from 'node:async_hooks'
import { utf8 } from '@latchkey/base'
import { CAPS, type FlowArg, show, tooLarge } from '@latchkey/protocol'

/** A hold of withLock around the current asynchronous call. `outer` is the next hold around this hold. */
interface HoldAround {
  readonly around: Around
  readonly key: string
  readonly id: string
  readonly flow: string | null
  readonly outer: HoldAround | undefined
  /**
   * False after the callback of withLock has ended. Calls that the callback has started may continue without
   * the hold.
   */
  active: boolean
}

/**
 * Law: all stores of the process share one AsyncLocalStorage. Without this law: until Node 22, each
 * AsyncLocalStorage that was used makes every later promise of the process slower, also after its store was
 * closed. After 2,000 stores, an await takes 200 microseconds.
 */
const innermost = new AsyncLocalStorage<HoldAround>()

/**
 * The holds of withLock around the current asynchronous call. A store and all of its subs
 * (`store.sub(prefix)`) share one Around, because a store and a sub may use the same lock.
 */
export class Around {
  /** Returns the active holds around the current call, the innermost hold first. */
  holds(): HoldAround[] {
    const holds: HoldAround[] = []
    for (let one = innermost.getStore(); one !== undefined; one = one.outer)
      if (one.active && one.around === this) holds.push(one)
    return holds
  }

  /** Adds a hold to the holds around the current call. */
  inside(hold: Pick<HoldAround, 'key' | 'id' | 'flow'>): HoldAround {
    const { key, id, flow } = hold
    return { key, id, flow, around: this, outer: innermost.getStore(), active: true }
  }

  run<T>(hold: HoldAround, work: () => T): T {
    return innermost.run(hold, work)
  }
}

/** Returns undefined if the caller names no flow and makes its call outside of every withLock. */
export function flowArg(around: Around, option: unknown): FlowArg | undefined {
  const holds = around.holds()
  const name = flowNameArg(option) ?? holds.find(({ flow }) => flow !== null)?.flow ?? null
  if (name === null && holds.length === 0) return undefined
  return [name, holds.slice(0, CAPS.holdsOfFlow).map(({ id }) => id)]
}

export function flowNameArg(flow: unknown): string | undefined {
  if (flow === undefined) return undefined
  if (typeof flow !== 'string' || flow === '')
    throw new TypeError(`flow must be a string that is not empty; got ${show(flow)}`)
  const size = utf8(flow).length
  if (size > CAPS.flowBytes) throw tooLarge('flow', size, CAPS.flowBytes)
  return flow
}
