// Rule: finds the flow to which a request for a lock belongs. A flow is work that takes its locks one at a
// time. The name that the caller gives, and the holds of withLock around the call, determine the flow
// (docs/locks.md, section 13).

import type { AsyncLocalStorage } from 'node:async_hooks'
import { utf8 } from '@latchkey/base'
import { CAPS, type FlowArg, show, tooLarge } from '@latchkey/protocol'

/** A hold of withLock around the current asynchronous call. `outer` is the next hold around this hold. */
interface HoldAround {
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
 * A store and all of its subs (`store.sub(prefix)`) share one AsyncLocalStorage, because a store and a sub
 * may use the same lock.
 */
export type Around = AsyncLocalStorage<HoldAround>

/** Returns undefined if the caller names no flow and makes its call outside of every withLock. */
export function flowArg(around: Around, option: unknown): FlowArg | undefined {
  const named = flowNameArg(option)
  const inner = around.getStore()
  if (inner === undefined) return named === undefined ? undefined : [named, []]
  const holds = holdsAround(inner)
  const name = named ?? holds.find(({ flow }) => flow !== null)?.flow ?? null
  if (name === null && holds.length === 0) return undefined
  return [name, holds.slice(0, CAPS.holdsOfFlow).map(({ id }) => id)]
}

/** Returns the active holds of withLock around the current call, the innermost hold first. */
export function holdsAround(inner: HoldAround | undefined): HoldAround[] {
  const holds: HoldAround[] = []
  for (let one = inner; one !== undefined; one = one.outer) if (one.active) holds.push(one)
  return holds
}

export function flowNameArg(flow: unknown): string | undefined {
  if (flow === undefined) return undefined
  if (typeof flow !== 'string' || flow === '')
    throw new TypeError(`flow must be a string that is not empty; got ${show(flow)}`)
  const size = utf8(flow).length
  if (size > CAPS.flowBytes) throw tooLarge('flow', size, CAPS.flowBytes)
  return flow
}
