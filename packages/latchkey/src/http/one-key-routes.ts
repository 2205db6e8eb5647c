// Door: the HTTP routes for one key, /v1/kv/{key}. The body of a PUT is the value. The ETag of a key is its
// modRevision. As in etcd, this is the revision of the last change of the key.

import { CAPS, type Duration, type TxnOp, type WriteOptions } from '@latchkey/protocol'
import { problem } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import { idempotencyKey, onceCalls, type TxnDone, writeTxn } from './idempotency-key-header.js'
import { durationOption, oneHeader, readOptions, writeOptions } from './request-headers-and-query.js'

const absent = () => problem(404, 'NOT_FOUND', 'No value is stored under that key.')
const etagOf = (revision: number) => ({ etag: `"${revision}"` })

export async function getKey(call: Call, key: Uint8Array): Promise<Reply> {
  const known = oneHeader(call, 'if-none-match')
  const entry = await call.by.getEntry(key, { ...readOptions(call), as: 'bytes' })
  if (entry === undefined) return absent()
  const headers = {
    ...etagOf(entry.modRevision),
    'content-type': 'application/octet-stream',
    'latchkey-create-revision': String(entry.createRevision),
    'latchkey-version': String(entry.version),
    ...(entry.remainingMillis !== undefined && {
      'latchkey-remaining-millis': String(entry.remainingMillis),
    }),
  }
  if (known !== undefined && isNamed(known, entry.modRevision)) return { status: 304, headers }
  return { status: 200, headers, body: entry.value }
}

/**
 * Whether the header If-None-Match of a read is `*` or a list with the ETag of this revision. A proxy may
 * have put `W/` before an ETag.
 */
const isNamed = (known: string, revision: number): boolean =>
  known.trim() === '*' || known.split(',').some((part) => part.trim().replace(/^W\//, '') === `"${revision}"`)

export async function putKey(call: Call, key: Uint8Array): Promise<Reply> {
  const options = writeOptions(call)
  const wanted = conditionOf(call)
  const ttl = durationOption(call, 'ttl')
  const value = await call.body(CAPS.valueBytes)
  if (wanted === undefined && idempotencyKey(call) === undefined)
    return written((await call.by.put(key, value, { ...options, ttl, as: 'bytes' })).revision)
  const { succeeded, revision } = await change(call, key, wanted, { type: 'put', key, value, ttl }, options)
  return succeeded ? written(revision) : refused()
}

export async function deleteKey(call: Call, key: Uint8Array): Promise<Reply> {
  const options = writeOptions(call)
  const wanted = conditionOf(call)
  if (wanted === undefined && idempotencyKey(call) === undefined)
    return (await call.by.delete(key, options)) > 0 ? { status: 204 } : absent()
  const { succeeded, results } = await change(call, key, wanted, { type: 'delete', key }, options)
  if (!succeeded) return refused()
  return results[0] === 0 ? absent() : { status: 204 }
}

/** The body is `{ "by": 5 }`, for example. Without a body, the route adds 1. */
export async function increment(call: Call, key: Uint8Array): Promise<Reply> {
  const options = writeOptions(call)
  if (conditionOf(call) !== undefined)
    throw new TypeError('An increment takes no If-Match and no If-None-Match; use a guard, or PUT.')
  const { by = 1 } = await objectOf(call)
  const { value, revision } = await incremented(call, key, by as number, options)
  return { status: 200, headers: etagOf(revision), body: { value, revision } }
}

async function incremented(call: Call, key: Uint8Array, by: number, options: WriteOptions) {
  if (idempotencyKey(call) === undefined) return call.by.increment(key, by, options)
  const { results, revision } = await writeTxn(call, { then: [{ type: 'increment', key, by }] }, options)
  return { value: results[0] as number, revision }
}

/** Changes the time to live. The value and the revision stay. */
export async function touchKey(call: Call, key: Uint8Array): Promise<Reply> {
  const options = writeOptions(call)
  const { ttl } = await objectOf(call)
  return (await onceCalls(call).touch(key, ttl as Duration, options)) ? { status: 204 } : absent()
}

const written = (revision: number): Reply => ({ status: 200, headers: etagOf(revision), body: { revision } })
const refused = () =>
  problem(412, 'PRECONDITION_FAILED', 'The value is not the one that If-Match or If-None-Match asks for.')

interface Wanted {
  readonly is: '=' | '>'
  /** `null` stands for an ETag that no key ever has, so the condition fails. */
  readonly modRevision: number | null
}

const NEVER = { succeeded: false, revision: 0, results: [] } as const

async function change(
  call: Call,
  key: Uint8Array,
  wanted: Wanted | undefined,
  op: TxnOp,
  options: WriteOptions,
): Promise<TxnDone> {
  if (wanted === undefined) return writeTxn(call, { then: [op] }, options)
  const { is, modRevision } = wanted
  if (modRevision === null) return NEVER
  return writeTxn(
    call,
    { when: [{ key, field: 'modRevision', is, value: modRevision }], then: [op] },
    options,
  )
}

/**
 * If-Match: "7" means that the key must have modRevision 7. If-Match: * means that the key must exist, and
 * If-None-Match: * means that the key must not exist.
 */
function conditionOf(call: Call): Wanted | undefined {
  const match = oneHeader(call, 'if-match')
  const none = oneHeader(call, 'if-none-match')
  if (match !== undefined && none !== undefined)
    throw new TypeError('If-Match and If-None-Match exclude each other.')
  if (none !== undefined) {
    if (none === '*') return { is: '=', modRevision: 0 }
    throw new TypeError('If-None-Match of a write must be *.')
  }
  if (match === undefined) return undefined
  if (match === '*') return { is: '>', modRevision: 0 }
  if (!/^(W\/)?"[^",]*"$/.test(match)) throw new TypeError('If-Match must be * or one ETag, such as "7".')
  const revision = Number(/^"([1-9][0-9]{0,15})"$/.exec(match)?.[1])
  return { is: '=', modRevision: Number.isSafeInteger(revision) ? revision : null }
}
