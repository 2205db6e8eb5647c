// Door: /v1/kv/{key}. A body is the raw value; an ETag is the modRevision.

import { CAPS, type Guard, LatchkeyError, type TxnOp } from '@latchkey/protocol'
import { problem } from './errors.js'
import { durationOption, oneHeader, readOptions, timeoutOption } from './request-options.js'
import type { Call, Reply } from './http-ports.js'
import { keyOf } from './routes.js'

export function serveKv(key: Uint8Array, call: Call): Promise<Reply> {
  if (call.method === 'PUT') return put(key, call)
  return call.method === 'DELETE' ? remove(key, call) : get(key, call)
}

const absent = () => problem(404, 'NOT_FOUND', 'No value is stored under that key.')
const etagOf = (revision: number) => ({ etag: `"${revision}"` })

async function get(key: Uint8Array, call: Call): Promise<Reply> {
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

/** If-None-Match of a read: `*`, or ETags separated by commas; a proxy may have made them weak. */
const isNamed = (known: string, revision: number): boolean =>
  known.trim() === '*' || known.split(',').some((part) => part.trim().replace(/^W\//, '') === `"${revision}"`)

async function put(key: Uint8Array, call: Call): Promise<Reply> {
  const options = { guard: guardOf(call), timeout: timeoutOption(call), signal: call.signal }
  const wanted = conditionOf(call)
  const ttl = durationOption(call, 'ttl')
  const value = await call.body(CAPS.valueBytes)
  if (wanted === undefined)
    return written((await call.by.put(key, value, { ...options, ttl, as: 'bytes' })).revision)
  const { succeeded, revision } = await change(call, key, wanted, { type: 'put', key, value, ttl }, options)
  return succeeded ? written(revision) : refused()
}

async function remove(key: Uint8Array, call: Call): Promise<Reply> {
  const options = { guard: guardOf(call), timeout: timeoutOption(call), signal: call.signal }
  const wanted = conditionOf(call)
  if (wanted === undefined) return (await call.by.delete(key, options)) > 0 ? { status: 204 } : absent()
  const { succeeded, results } = await change(call, key, wanted, { type: 'delete', key }, options)
  if (!succeeded) return refused()
  return results[0] === 0 ? absent() : { status: 204 }
}

const written = (revision: number): Reply => ({ status: 200, headers: etagOf(revision), body: { revision } })
const refused = () =>
  problem(412, 'PRECONDITION_FAILED', 'The value is not the one that If-Match or If-None-Match asks for.')

interface Wanted {
  readonly is: '=' | '>'
  /** null: an ETag that no value has had. */
  readonly modRevision: number | null
}

const NEVER = { succeeded: false, revision: 0, results: [] } as const

const change = async (
  call: Call,
  key: Uint8Array,
  { is, modRevision }: Wanted,
  op: TxnOp,
  options: { guard: Guard | undefined },
) =>
  modRevision === null
    ? NEVER
    : call.by.txn(
        { when: [{ key, field: 'modRevision', is, value: modRevision }], then: [op] },
        { ...options, as: 'bytes' },
      )

/** If-Match: "7" · If-Match: * (the key exists) · If-None-Match: * (the key does not exist). */
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

/** Latchkey-Guard: key;token, the key percent-encoded. */
function guardOf(call: Call): Guard | undefined {
  const text = oneHeader(call, 'latchkey-guard')
  if (text === undefined) return undefined
  const [, key, token] = /^([^;]+);([1-9][0-9]{0,15})$/.exec(text.trim()) ?? []
  if (key === undefined || !Number.isSafeInteger(Number(token))) {
    throw new TypeError(
      'Latchkey-Guard must be key;token, the key percent-encoded, the token a positive number.',
    )
  }
  const bytes = keyOf(key.replaceAll('/', '%2F'))
  if (bytes.length > CAPS.keyBytes)
    throw new LatchkeyError('ERR_TOO_LARGE', 'The key of Latchkey-Guard is too long.')
  return { key: bytes, token: Number(token) }
}
