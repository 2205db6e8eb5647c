// Door: the routes for sequences, which are counters that give out unique numbers.

import type { Call, Reply } from './http-route-dependencies.js'
import { onceCalls } from './idempotency-key-header.js'
import { objectOf } from './json-body.js'
import { readOptions, writeOptions } from './request-headers-and-query.js'

/**
 * No other caller gets the returned numbers. Without an Idempotency-Key, a repeated request gets another
 * block, and nobody uses the numbers of the first block.
 */
export async function nextSequence(call: Call, key: Uint8Array): Promise<Reply> {
  const given = writeOptions(call)
  const { step = 1 } = await objectOf(call)
  return { status: 200, body: await onceCalls(call).getSequence(key, step as number, given) }
}

export async function getSequence(call: Call, key: Uint8Array): Promise<Reply> {
  return { status: 200, body: { next: await call.by.getLatestSequence(key, readOptions(call)) } }
}

export async function resetSequence(call: Call, key: Uint8Array): Promise<Reply> {
  await onceCalls(call).resetSequence(key, writeOptions(call))
  return { status: 204 }
}
