// Rule: to which flow a request for a lock belongs: the one that its caller names, and the holds of withLock
// around it (docs/locks.md, section 13).

import type { AsyncLocalStorage } from 'node:async_hooks'
import { utf8 } from '@latchkey/base'
import { CAPS, type FlowArg, show, tooLarge } from '@latchkey/protocol'

/** A hold of withLock around the current asynchronous call, and the one around that. */
export interface HoldAround {
  /** One character for each byte. */
  readonly key: string
  /** Its acquirer's id. */
  readonly id: string
  readonly flow: string | null
  readonly outer: HoldAround | undefined
  /** false: its work is over; what it started goes on without it. */
  active: boolean
}

/** It is one for a store and all of its subs: a lock of the store and one of a sub may be the same lock. */
export type Around = AsyncLocalStorage<HoldAround>

/** undefined: the caller names no flow, and asks within no hold. */
export function flowArg(around: Around, option: unknown): FlowArg | undefined {
  const named = flowNameArg(option)
  const inner = around.getStore()
  if (inner === undefined) return named === undefined ? undefined : [named, []]
  const holds = holdsAround(inner)
  const name = named ?? holds.find(({ flow }) => flow !== null)?.flow ?? null
  if (name === null && holds.length === 0) return undefined
  return [name, holds.slice(0, CAPS.holdsOfFlow).map(({ id }) => id)]
}

/** The holds around the current call whose work is not over, the innermost first. */
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
