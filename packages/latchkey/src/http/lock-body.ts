// Door: the JSON bodies of requests about locks.

import { CAPS, type ContextArg, type Duration, LatchkeyError, millis, show } from '@latchkey/protocol'
import type { Call } from './http-ports.js'

export interface AcquireBody {
  readonly id: string
  readonly lease: number
  /** null: one attempt, without waiting. */
  readonly wait: number | null
  readonly context: ContextArg
}

export interface HoldBody {
  readonly id: string
  readonly token: number
  /** Only for a renewal that asks for another lease than the acquire did. */
  readonly lease: number | undefined
}

/** Room for a context of 4 KiB in which every character is escaped, and for the other fields. */
const MOST_BYTES = 64 * 1024
const DEFAULT_LEASE = '10s'

export async function acquireBody(call: Call): Promise<AcquireBody> {
  const { id, lease = DEFAULT_LEASE, wait, context, ...rest } = await objectOf(call)
  refuseMore(rest, 'id, lease, wait and context')
  return {
    id: idOf(id),
    lease: leaseOf(lease),
    wait: wait === undefined || wait === null ? null : millis(wait as Duration, 'wait'),
    context: contextOf(context),
  }
}

export async function holdBody(call: Call, renewal: boolean): Promise<HoldBody> {
  const { id, fencingToken, lease, ...rest } = await objectOf(call)
  refuseMore(renewal ? rest : { ...rest, ...(lease === undefined ? {} : { lease }) }, 'id and fencingToken')
  if (typeof fencingToken !== 'number' || !Number.isSafeInteger(fencingToken) || fencingToken <= 0) {
    throw new TypeError('fencingToken must be the number that acquire answered.')
  }
  return { id: idOf(id), token: fencingToken, lease: lease === undefined ? undefined : leaseOf(lease) }
}

async function objectOf(call: Call): Promise<Record<string, unknown>> {
  const text = Buffer.from(await call.body(MOST_BYTES)).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new TypeError('The body must be a JSON object.', { cause: error })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new TypeError('The body must be a JSON object.')
}

function refuseMore(rest: Record<string, unknown>, known: string): void {
  const [name] = Object.keys(rest)
  if (name !== undefined) throw new TypeError(`Unknown field ${show(name)}; there are ${known}.`)
}

function idOf(id: unknown): string {
  if (typeof id !== 'string' || id === '')
    throw new TypeError('id must be a text that is not empty: a random one for each hold.')
  if (Buffer.byteLength(id) > CAPS.keyBytes)
    throw new LatchkeyError('ERR_TOO_LARGE', 'The id is longer than 4 KiB.')
  return id
}

function leaseOf(lease: unknown): number {
  const ms = millis(lease as Duration, 'lease')
  if (ms >= CAPS.minLease && ms <= CAPS.maxLease) return ms
  throw new TypeError('lease must be from 50 ms to 30 days.')
}

function contextOf(context: unknown): ContextArg {
  if (context === undefined || context === null) return null
  if (typeof context !== 'string') throw new TypeError('context must be a text.')
  if (Buffer.byteLength(context) > CAPS.contextBytes)
    throw new LatchkeyError('ERR_TOO_LARGE', 'A context has at most 4 KiB.')
  return context
}
