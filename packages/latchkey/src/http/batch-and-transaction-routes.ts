// Door: POST /v1/batch and POST /v1/txn. The fields of the body have the names of the options of the store's
// calls. A key that is not UTF-8 is sent in base64 as keyBase64.
//
// Law: an operation whose key should live as long as a session is refused. Without this law: the key gets a
// session of this member, and not of the caller. The caller's script crashes, the session of this member
// continues, and the key stays.

import type { EntryOfKey, Txn, WriteOp } from '@latchkey/protocol'
import { batchArgs, CAPS, show } from '@latchkey/protocol'
import type { Call, Reply } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import { idempotencyKey, writeTxn } from './idempotency-key-header.js'
import { writeOptions } from './request-headers-and-query.js'
import { bytesField, formOption, type ValueForm, valueJson, valueOf } from './values-json.js'

type Fields = Record<string, unknown>

/** In bytes. A body of this size has room for the largest command in base64. */
const MOST_BYTES = 2 * CAPS.commandBytes

export async function batch(call: Call): Promise<Reply> {
  const options = writeOptions(call)
  const given = await objectOf(call, MOST_BYTES)
  const ops = toOps(given.ops, 'ops') as WriteOp[]
  if (idempotencyKey(call) === undefined)
    return { status: 200, body: await call.by.batch(ops, { ...options, as: 'bytes' }) }
  // A batch with an Idempotency-Key runs as a transaction. batchArgs refuses reads, which only a transaction
  // may have.
  batchArgs(ops, options)
  const { revision, results } = await writeTxn(call, { then: ops }, options)
  return { status: 200, body: { revision, results } }
}

export async function txn(call: Call): Promise<Reply> {
  const options = writeOptions(call)
  const form = formOption(call)
  const given = await objectOf(call, MOST_BYTES)
  const { succeeded, revision, results } = await writeTxn(call, toTxn(given), options)
  return { status: 200, body: { succeeded, revision, results: results.map((one) => resultJson(one, form)) } }
}

function toTxn({ when, then, else: otherwise }: Fields): Txn {
  const conditions = when === undefined ? undefined : listOf(when, 'when').map(toCondition)
  const given = {
    when: conditions,
    then: then === undefined ? undefined : toOps(then, 'then'),
    else: otherwise === undefined ? undefined : toOps(otherwise, 'else'),
  }
  // The store checks the other fields.
  return given as unknown as Txn
}

const toOps = (ops: unknown, name: string): Fields[] =>
  listOf(ops, name).map((op, at) => toOp(op, `${name}[${at}]`))

function toOp(op: Fields, name: string): Fields {
  if (op.ephemeral !== undefined) throw new TypeError(`${name}.ephemeral is not for HTTP: give the key a ttl`)
  const converted = withBytes(op, ['key', 'start', 'end'], name)
  return 'value' in op ? { ...converted, value: valueOf(op.value, `${name}.value`) } : converted
}

function toCondition(condition: Fields, at: number): Fields {
  const name = `when[${at}]`
  const converted = withBytes(condition, ['key', 'lock'], name)
  const { value, field = 'value', as } = condition
  if (value === null) return { ...converted, value: undefined }
  if (value === undefined || field !== 'value' || as !== undefined) return converted
  return { ...converted, value: valueOf(value, `${name}.value`) }
}

function withBytes(given: Fields, names: readonly string[], of: string): Fields {
  const converted = { ...given }
  for (const name of names) {
    const bytes = bytesField(given, name, of)
    if (bytes === undefined) continue
    converted[name] = bytes
    delete converted[`${name}Base64`]
  }
  return converted
}

function listOf(given: unknown, name: string): Fields[] {
  if (!Array.isArray(given)) throw new TypeError(`${name} must be a list; got ${show(given)}`)
  return given.map((one: unknown, at) => {
    if (typeof one === 'object' && one !== null && !Array.isArray(one)) return one as Fields
    throw new TypeError(`${name}[${at}] must be an object; got ${show(one)}`)
  })
}

type Result = true | number | EntryOfKey | undefined

function resultJson(result: Result, form: ValueForm | undefined): unknown {
  if (result === undefined) return null
  if (typeof result !== 'object') return result
  return { ...result, value: valueJson(result.value, form) }
}
