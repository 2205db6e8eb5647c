// Door: reads the JSON bodies of requests about one lock.

import { flowNameArg, modeArg, permitsArg } from '@latchkey/lock'
import {
  CAPS,
  type ContextArg,
  type FlowArg,
  LatchkeyError,
  millis,
  type ShareArg,
  show,
} from '@latchkey/protocol'
import type { Call } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import { oneHeader } from './request-headers-and-query.js'
import { valueOf } from './values-json.js'

type Fields = Record<string, unknown>

export interface AcquireBody {
  readonly id: string
  readonly lease: number
  /** In ms. `null` means one attempt without a wait. */
  readonly wait: number | null
  readonly context: ContextArg
  /** Undefined means an exclusive hold. */
  readonly share: ShareArg | undefined
  /**
   * The flow that the caller names: work that takes its locks one at a time. The cluster finds deadlocks
   * between flows.
   */
  readonly flow: FlowArg | undefined
  /** The session of the HTTP caller (sessions-of-open-http-requests.ts) whose end also ends the hold. */
  readonly session: string | undefined
}

export interface HoldBody {
  readonly id: string
  readonly token: number
  /** In ms. Undefined means the lease with which the hold was acquired. */
  readonly lease: number | undefined
}

const DEFAULT_LEASE = '10s'

export async function acquireBody(call: Call): Promise<AcquireBody> {
  const given = await objectOf(call)
  return { ...askOf(call, given), context: contextOf(given.context), share: modeArg(given.mode) }
}

export async function permitsBody(call: Call): Promise<AcquireBody> {
  const given = await objectOf(call)
  const of = permitsArg(given.of, 'of')
  const permits = given.permits === undefined ? 1 : permitsArg(given.permits, 'permits')
  if (permits > of) throw new TypeError(`permits must be at most of, which is ${of}; got ${permits}`)
  return { ...askOf(call, given), context: contextOf(given.context), share: [permits, of] }
}

export async function campaignBody(call: Call): Promise<AcquireBody> {
  const given = await objectOf(call)
  const context = given.value === undefined ? null : saidOf(given.value)
  return { ...askOf(call, given), context, share: undefined }
}

/**
 * Without the field `id`, the header Idempotency-Key is the id. Requests with the same id are one
 * acquisition.
 */
export function askOf(call: Call, { id = oneHeader(call, 'idempotency-key'), ...given }: Fields) {
  const { lease = DEFAULT_LEASE, wait } = given
  const flow = flowNameArg(given.flow)
  return {
    id: idOf(id),
    lease: leaseOf(lease),
    wait: wait === undefined || wait === null ? null : millis(wait, 'wait'),
    flow: flow === undefined ? undefined : ([flow, []] as const),
    session: sessionOf(given.session),
  }
}

export async function holdBody(call: Call): Promise<HoldBody> {
  const given = await objectOf(call)
  const { id, fencingToken, lease } = given
  return {
    id: idOf(id),
    token: tokenOf(fencingToken),
    lease: lease === undefined ? undefined : leaseOf(lease),
  }
}

export async function proclaimBody(call: Call): Promise<HoldBody & { readonly context: Uint8Array }> {
  const { id, fencingToken, value } = await objectOf(call)
  return { id: idOf(id), token: tokenOf(fencingToken), lease: undefined, context: saidOf(value) }
}

/** Returns the fencing token of the hold to end. Undefined means every present hold. */
export async function forceBody(call: Call): Promise<number | undefined> {
  const { fencingToken } = await objectOf(call)
  return fencingToken === undefined ? undefined : tokenOf(fencingToken)
}

export function tokenOf(token: unknown): number {
  if (typeof token === 'number' && Number.isSafeInteger(token) && token > 0) return token
  throw new TypeError(`fencingToken must be the number that acquire answered; got ${show(token)}`)
}

function saidOf(value: unknown): Uint8Array {
  const bytes = valueOf(value, 'value')
  if (bytes.length > CAPS.contextBytes)
    throw new LatchkeyError('ERR_TOO_LARGE', 'The value of a leader has at most 4 KiB.')
  return bytes
}

function sessionOf(session: unknown): string | undefined {
  if (session === undefined || typeof session === 'string') return session
  throw new TypeError(`session must be the id that POST /v1/sessions sent; got ${show(session)}`)
}

export function idOf(id: unknown): string {
  if (typeof id !== 'string' || id === '')
    throw new TypeError('id must be a text that is not empty: a random one for each hold.')
  if (Buffer.byteLength(id) > CAPS.keyBytes)
    throw new LatchkeyError('ERR_TOO_LARGE', 'The id is longer than 4 KiB.')
  return id
}

export function leaseOf(lease: unknown): number {
  const ms = millis(lease, 'lease')
  if (ms >= CAPS.minLease && ms <= CAPS.maxLease) return ms
  throw new TypeError('lease must be from 50 ms to 30 days.')
}

export function contextOf(context: unknown): ContextArg {
  if (context === undefined || context === null) return null
  if (typeof context !== 'string') throw new TypeError('context must be a text.')
  if (Buffer.byteLength(context) > CAPS.contextBytes)
    throw new LatchkeyError('ERR_TOO_LARGE', 'A context has at most 4 KiB.')
  return context
}
