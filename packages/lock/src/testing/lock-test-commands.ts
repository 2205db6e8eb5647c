// Rule: short functions for the commands of lock tests.

import { utf8 } from '@latchkey/base'
import {
  type ContextArg,
  OP,
  OWNER_CODES,
  type OwnerResult,
  type ShareArg,
  type CommandOf,
} from '@latchkey/protocol'
import { tryLock } from '../rules/acquire.js'
import type { MapTransaction } from './map-transaction.js'

export const K = utf8('k')

export interface AskOptions {
  readonly key?: Uint8Array
  readonly fencingKey?: Uint8Array | null
  readonly keepLease?: boolean
  readonly lease?: number
  readonly token?: number
  readonly context?: ContextArg
  readonly wait?: number | null
  readonly session?: number
  readonly share?: ShareArg
  readonly flow?: string
  readonly within?: readonly string[]
}

export function askCommand(id: string, options: AskOptions = {}): CommandOf<'tryLock'> {
  const { key = K, fencingKey = null, keepLease = false, lease = 1000 } = options
  const { token = 0, context = null, wait = null } = options
  const attempt = [OP.tryLock, key, fencingKey, keepLease, id, lease, token, context, wait] as const
  const { share, flow = null, within = [] } = options
  if (flow !== null || within.length > 0) return [...attempt, share ?? null, [flow, within]]
  return share === undefined ? attempt : [...attempt, share]
}

/** The owner in the answer to an attempt in the current entry. A refusal with an error code is thrown. */
export function ask(tx: MapTransaction, id: string, options: AskOptions = {}): OwnerResult {
  const answer = tryLock(tx, options.session ?? 1, askCommand(id, options))
  if (typeof answer === 'string') throw new Error(answer)
  return answer[0]
}

/** Writes an owner as text, for example "HELD a t0 x0 until 1000 rem 400 [ctx] @600". */
export function drawn(owner: OwnerResult): string {
  const [id, deadline, remaining, token, acquires, context, code, now] = owner
  const parts = [OWNER_CODES[code], id || '-', `t${token}`, `x${acquires}`, `until ${deadline}`]
  const number = remaining === Number.MAX_SAFE_INTEGER ? 'max' : remaining
  return [...parts, `rem ${number}`, context === null ? '-' : `[${String(context)}]`, `@${now}`].join(' ')
}
