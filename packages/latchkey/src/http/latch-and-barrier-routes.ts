// Door: the routes for latches (countdown latches) and barriers. A latch opens when it has been counted down
// to zero. At a barrier, callers wait for each other.

import { EMPTY } from '@latchkey/base'
import {
  type BarrierInfoResult,
  DEFAULT_TIMEOUT,
  type LatchInfoResult,
  PARTY_OF,
  type PartyOf,
  READ,
  type Read,
} from '@latchkey/protocol'
import { keyJson, problem } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { onceCalls } from './idempotency-key-header.js'
import { objectOf } from './json-body.js'
import {
  afterOption,
  bytesOption,
  callOptions,
  limitOption,
  limits,
  nextOf,
} from './request-headers-and-query.js'

export async function listLatches(call: Call): Promise<Reply> {
  const { rows, next } = await pageOf<LatchInfoResult>(call, PARTY_OF.latch)
  const latches = rows.map(([name, count, waiters]) => ({ ...keyJson(name, 'name'), count, waiters }))
  return { status: 200, body: { latches, next } }
}

export async function listBarriers(call: Call): Promise<Reply> {
  const { rows, next } = await pageOf<BarrierInfoResult>(call, PARTY_OF.barrier)
  const barriers = rows.map(([name, generation, parties, waiters]) => ({
    ...keyJson(name, 'name'),
    generation,
    parties,
    waiters,
  }))
  return { status: 200, body: { barriers, next } }
}

/** The member reads only the rows of the page, and one row more. */
async function pageOf<Row extends LatchInfoResult | BarrierInfoResult>(call: Call, of: PartyOf) {
  const limit = limitOption(call)
  const page = [afterOption(call) ?? null, limit] as const
  const read: Read = [READ.parties, of, bytesOption(call, 'prefix') ?? EMPTY, page]
  const found = (await call.by.lockPort.read(read, limits(call))) as Row[]
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  return { rows, next: last === undefined ? null : nextOf(last[0]) }
}

export async function createLatch(call: Call, name: Uint8Array): Promise<Reply> {
  const { count } = await objectOf(call)
  const created = await onceCalls(call).latches.create(name, count as number, callOptions(call))
  return { status: 200, body: { created } }
}

export async function countDown(call: Call, name: Uint8Array): Promise<Reply> {
  const { by = 1 } = await objectOf(call)
  const left = await onceCalls(call).latches.countDown(name, by as number, callOptions(call))
  return { status: 200, body: { left } }
}

export async function waitForLatch(call: Call, name: Uint8Array): Promise<Reply> {
  const { timeout = DEFAULT_TIMEOUT, signal } = callOptions(call)
  await call.by.latches.wait(name, { timeout, signal })
  return { status: 200, body: { open: true } }
}

export async function removeLatch(call: Call, name: Uint8Array): Promise<Reply> {
  if (await onceCalls(call).latches.remove(name, callOptions(call))) return { status: 204 }
  return problem(404, 'NOT_FOUND', 'There is no latch of that name.')
}

/** A caller that disconnects leaves the barrier. If this member ends, all its callers leave the barrier. */
export async function enterBarrier(call: Call, name: Uint8Array): Promise<Reply> {
  const { parties } = await objectOf(call)
  const { timeout = DEFAULT_TIMEOUT, signal } = callOptions(call)
  const entered = await call.by.barriers.enter(name, { parties: parties as number, wait: timeout, signal })
  return { status: 200, body: entered }
}
