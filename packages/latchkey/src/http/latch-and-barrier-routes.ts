// Door: the routes for latches (countdown latches) and barriers. A latch opens when it has been counted down
// to zero. At a barrier, callers wait for each other.

import { compareBytes } from '@latchkey/base'
import { DEFAULT_TIMEOUT } from '@latchkey/protocol'
import { keyJson, problem } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import { afterOption, bytesOption, callOptions, limitOption, nextOf } from './request-headers-and-query.js'

export async function listLatches(call: Call): Promise<Reply> {
  const all = await call.by.latches.query(bytesOption(call, 'prefix') ?? '', listed(call))
  const { rows, next } = pageOf(call, all)
  return { status: 200, body: { latches: rows.map(named), next } }
}

export async function listBarriers(call: Call): Promise<Reply> {
  const all = await call.by.barriers.query(bytesOption(call, 'prefix') ?? '', listed(call))
  const { rows, next } = pageOf(call, all)
  return { status: 200, body: { barriers: rows.map(named), next } }
}

const listed = (call: Call) => ({ ...callOptions(call), as: 'bytes' }) as const
const named = <Row extends { readonly name: Uint8Array }>({ name, ...row }: Row): object => ({
  ...keyJson(name, 'name'),
  ...row,
})

function pageOf<Row extends { readonly name: Uint8Array }>(call: Call, all: readonly Row[]) {
  const after = afterOption(call)
  const limit = limitOption(call)
  const behind = after === undefined ? all : all.filter(({ name }) => compareBytes(name, after) > 0)
  const rows = behind.slice(0, limit)
  const last = rows.at(-1)
  const next = last !== undefined && behind.length > limit ? nextOf(last.name) : null
  return { rows, next }
}

export async function createLatch(call: Call, name: Uint8Array): Promise<Reply> {
  const { count } = await objectOf(call)
  const created = await call.by.latches.create(name, count as number, callOptions(call))
  return { status: 200, body: { created } }
}

export async function countDown(call: Call, name: Uint8Array): Promise<Reply> {
  const { by = 1 } = await objectOf(call)
  const left = await call.by.latches.countDown(name, by as number, callOptions(call))
  return { status: 200, body: { left } }
}

export async function waitForLatch(call: Call, name: Uint8Array): Promise<Reply> {
  const { timeout = DEFAULT_TIMEOUT, signal } = callOptions(call)
  await call.by.latches.wait(name, { timeout, signal })
  return { status: 200, body: { open: true } }
}

export async function removeLatch(call: Call, name: Uint8Array): Promise<Reply> {
  if (await call.by.latches.remove(name, callOptions(call))) return { status: 204 }
  return problem(404, 'NOT_FOUND', 'There is no latch of that name.')
}

/** A caller that disconnects leaves the barrier. If this member ends, all its callers leave the barrier. */
export async function enterBarrier(call: Call, name: Uint8Array): Promise<Reply> {
  const { parties } = await objectOf(call)
  const { timeout = DEFAULT_TIMEOUT, signal } = callOptions(call)
  const entered = await call.by.barriers.enter(name, { parties: parties as number, wait: timeout, signal })
  return { status: 200, body: entered }
}
