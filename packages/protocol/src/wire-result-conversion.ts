// Door: converts results from members into results for callers. The results are copies. An invalid result
// throws ERR_PROTOCOL.

import { elementAt, startsWith, text } from '@latchkey/base'
import type { As, Decoding } from './key-and-value-encodings.js'
import { LatchkeyError } from './errors.js'
import { unpack } from './msgpack-decoder.js'
import type { ContextArg, Step } from './command-and-read-wire-types.js'
import {
  type BackupResult,
  EVENT,
  type EventResult,
  LOCK_EVENT,
  type LockEventName,
  type LockStateResult,
  type PageResult,
} from './result-wire-types.js'
import type { InitialPut } from './list-and-watch-result-types.js'
import type { SessionInfo } from './status-and-admin-types.js'
import type { EntryAtRevision, EntryOfKey, WatchEvent } from './key-value-calls-and-options.js'
import type { BarrierInfo, LatchInfo, LockHistory } from './lock-and-latch-types.js'
import { undecodable } from './undecodable-value-error.js'
import { decodeParsed } from './value-codec.js'

const nonsense = (what: string) =>
  new LatchkeyError(
    'ERR_PROTOCOL',
    `The answer is no ${what}. Check that both sides run compatible versions.`,
    {
      outcome: 'unknown',
    },
  )

// ---- Values and keys

/** Copies the bytes, so that callers get a plain Uint8Array and not a Buffer. */
const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

/** Removes the prefix of `store.sub(prefix)` from the stored key `whole`. */
export function toUserKey(whole: Uint8Array, { as, prefix }: Decoding): string | Uint8Array {
  const key = prefix.length === 0 ? whole : behindPrefix(whole, prefix)
  return as === 'bytes' ? plain(key) : text(key)
}

/** A correct member never sends a key without the prefix (SV1). */
function behindPrefix(whole: Uint8Array, prefix: Uint8Array): Uint8Array {
  if (startsWith(whole, prefix)) return whole.subarray(prefix.length)
  throw nonsense('key below the prefix that was asked for')
}

/**
 * `key` is the stored key. `revision` is the revision of the value, if the answer has one. Error messages
 * name the key and the revision.
 */
export function toUserValue(bytes: Uint8Array, how: Decoding, key: Uint8Array, revision?: number): unknown {
  const { as } = how
  if (as === 'bytes') return plain(bytes)
  if (as === 'string') return text(bytes)
  try {
    return decodeParsed(bytes, as)
  } catch (cause) {
    if (how.onUndecodable === 'bytes') return plain(bytes)
    throw undecodable({ key, bytes, how, revision, cause })
  }
}

const isData = (value: unknown): value is Uint8Array => value instanceof Uint8Array

export function toMaybe(result: unknown, how: Decoding, key: Uint8Array, revision?: number): unknown {
  if (result === null || result === undefined) return undefined
  if (!isData(result)) throw nonsense('value')
  return toUserValue(result, how, key, revision)
}

export function toMany(result: unknown, how: Decoding, keys: readonly Uint8Array[]): unknown[] {
  if (!Array.isArray(result) || result.length !== keys.length) throw nonsense('list of values')
  return result.map((value, i) => toMaybe(value, how, elementAt(keys, i)))
}

function toEntry(result: unknown, how: Decoding, key: Uint8Array): EntryOfKey<As> | undefined {
  if (result === null || result === undefined) return undefined
  if (!Array.isArray(result) || result.length < 4 || result.length > 5 || !isData(result[3]))
    throw nonsense('entry')
  const [createRevision, modRevision, version, value, remaining] = result as [
    unknown,
    unknown,
    unknown,
    Uint8Array,
    unknown,
  ]
  return {
    value: toUserValue(value, how, key, toCount(modRevision)),
    createRevision: toCount(createRevision),
    modRevision: toCount(modRevision),
    version: toCount(version),
    ...(result.length === 5 && { remainingMillis: toCount(remaining) }),
  }
}

export function toEntryRead(
  result: unknown,
  how: Decoding,
  key: Uint8Array,
): EntryAtRevision<As> | undefined {
  if (result === null || result === undefined) return undefined
  if (!Array.isArray(result) || result.length !== 2) throw nonsense('entry with a revision')
  const entry = toEntry(result[1], how, key)
  if (entry === undefined) throw nonsense('entry with a revision')
  return { ...entry, revision: toCount(result[0]) }
}

// ---- Numbers and flags

export function toCount(result: unknown): number {
  if (Number.isSafeInteger(result) && (result as number) >= 0) return result as number
  throw nonsense('number')
}

export function toBoolean(result: unknown): boolean {
  if (typeof result === 'boolean') return result
  throw nonsense('truth')
}

export const toNothing = (): undefined => undefined

/** The result of a write is [revision, results], or the revision. */
export const toRevised = (result: unknown): { revision: number } => ({
  revision: toCount(Array.isArray(result) ? result[0] : result),
})

export function toBlock(result: unknown): { start: number; end: number } {
  if (!Array.isArray(result) || result.length !== 2) throw nonsense('block of numbers')
  return { start: toCount(result[0]), end: toCount(result[1]) }
}

export function toIncremented(result: unknown): { value: number; revision: number } {
  if (!Array.isArray(result) || result.length !== 2) throw nonsense('number and its revision')
  const [value, revision] = result as unknown[]
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw nonsense('number and its revision')
  return { value, revision: toCount(revision) }
}

// ---- Batches

export function toBatch(result: unknown): { revision: number; results: (true | number)[] } {
  const [revision, results] = toParts(result, 2)
  if (!Array.isArray(results) || !results.every(isDone)) throw nonsense('list of results')
  return { revision: toCount(revision), results }
}

const isDone = (result: unknown): result is true | number => result === true || typeof result === 'number'

/** `then` and `otherwise` are the steps of the two branches. Error messages name their keys. */
export function toTxn(result: unknown, how: Decoding, then: readonly Step[], otherwise: readonly Step[]) {
  const [succeeded, revision, results] = toParts(result, 3)
  return {
    succeeded: toBoolean(succeeded),
    results: toResults(results, how, succeeded === true ? then : otherwise),
    revision: toCount(revision),
  }
}

function toParts(result: unknown, parts: number): unknown[] {
  if (!Array.isArray(result) || result.length !== parts) throw nonsense('result of a batch')
  return result
}

function toResults(
  results: unknown,
  how: Decoding,
  steps: readonly Step[],
): (true | number | EntryOfKey<As> | undefined)[] {
  if (!Array.isArray(results) || results.length !== steps.length) throw nonsense('list of results')
  return results.map((result: unknown, i) =>
    isDone(result) ? result : toEntry(result, how, elementAt(steps, i)[1]),
  )
}

// ---- Sessions

export function toSessions(result: unknown): SessionInfo[] {
  if (!Array.isArray(result)) throw nonsense('list of sessions')
  return result.map(toSession)
}

function toSession(row: unknown): SessionInfo {
  const [id, openedBy, ...counts] = toParts(row, 6)
  if (typeof openedBy !== 'string') throw nonsense('session')
  const [lifeMillis, idleMillis, holds, waiters] = counts.map(toCount) as [number, number, number, number]
  const remainingMillis = Math.max(0, lifeMillis - idleMillis)
  return { id: toCount(id), openedBy, lifeMillis, idleMillis, remainingMillis, holds, waiters }
}

// ---- Latches and barriers

export function toLatchInfos(result: unknown, how: Decoding): LatchInfo<As>[] {
  return toRows(result, 3).map(([name, count, waiters]) => ({
    name: toUserKey(toName(name), how),
    count: toCount(count),
    waiters: toCount(waiters),
  }))
}

export function toBarrierInfos(result: unknown, how: Decoding): BarrierInfo<As>[] {
  return toRows(result, 4).map(([name, generation, parties, waiters]) => ({
    name: toUserKey(toName(name), how),
    generation: toCount(generation),
    parties: toCount(parties),
    waiters: toCount(waiters),
  }))
}

function toName(name: unknown): Uint8Array {
  if (name instanceof Uint8Array) return name
  throw nonsense('name of a latch or barrier')
}

function toRows(result: unknown, length: number): unknown[][] {
  if (!Array.isArray(result)) throw nonsense('list of latches or barriers')
  return result.map((row) => toParts(row, length))
}

// ---- Locks

type LockValue = readonly [id: string, context: ContextArg, token: number, revision: number]

export function toLockValue(bytes: Uint8Array): LockValue {
  let value: unknown
  try {
    value = unpack(bytes)
  } catch {
    throw nonsense('event of a lock')
  }
  const [id, context, token, revision] = toParts(value, 4)
  if (typeof id !== 'string' || !isContext(context)) throw nonsense('event of a lock')
  return [id, context, toCount(token), toCount(revision)]
}

const isContext = (value: unknown): value is ContextArg =>
  value === null || typeof value === 'string' || isData(value)

export function toLockState(result: unknown): LockStateResult {
  const [index, revision, rows] = toParts(result, 3)
  if (!Array.isArray(rows)) throw nonsense('list of locks')
  const holds = rows.map((row: unknown) => {
    const [key, id, context, token] = toParts(row, 4)
    if (!isData(key) || typeof id !== 'string' || !isContext(context)) throw nonsense('list of locks')
    return [plain(key), id, context, toCount(token)] as const
  })
  return [toCount(index), toCount(revision), holds]
}

const EVENT_NAMES: ReadonlyMap<unknown, LockEventName> = new Map(
  Object.entries(LOCK_EVENT).map(([name, number]) => [number, name as LockEventName]),
)

export function toLockEventName(type: unknown): LockEventName {
  const name = EVENT_NAMES.get(type)
  if (name === undefined) throw nonsense('event of a lock')
  return name
}

export function toLockHistory(result: unknown): LockHistory {
  const [since, rows] = toParts(result, 2)
  if (!Array.isArray(rows)) throw nonsense('history of a lock')
  const history = rows.map((row: unknown) => {
    const [type, id, context, token, revision, ago] = toParts(row, 6)
    if (typeof id !== 'string' || !isContext(context)) throw nonsense('history of a lock')
    return {
      type: toLockEventName(type),
      id,
      context: context === null ? undefined : typeof context === 'string' ? context : plain(context),
      fencingToken: toCount(token),
      revision: toCount(revision),
      agoMillis: toCount(ago),
    }
  })
  return Object.defineProperty(history, 'sinceMillis', { value: toCount(since) }) as LockHistory
}

// ---- Pages and events

export function toPage(result: unknown): PageResult {
  const [view, rows, revision] = toParts(result, 3)
  if (!Array.isArray(rows) || !rows.every(isRow)) throw nonsense('page')
  return [toCount(view), rows as PageResult[1], toCount(revision)]
}

export function toBackupPiece(result: unknown): BackupResult {
  const [view, piece, total] = toParts(result, 3)
  if (piece !== null && !isData(piece)) throw nonsense('piece of a backup')
  return [toCount(view), piece, toCount(total)]
}

function isRow(row: unknown): boolean {
  if (!Array.isArray(row) || row.length < 2 || row.length > 3) return false
  const [key, value, revision] = row as unknown[]
  const isPart = (part: unknown) => part === null || isData(part)
  return isPart(key) && isPart(value) && (row.length === 2 || Number.isSafeInteger(revision))
}

export function toInitialPut(
  [key, value, revision]: readonly [Uint8Array, Uint8Array, number],
  how: Decoding,
): InitialPut<string | Uint8Array, unknown> {
  return {
    revision,
    type: 'put',
    initial: true,
    key: toUserKey(key, how),
    value: toUserValue(value, how, key, revision),
    previous: undefined,
  }
}

const REASONS: { readonly [type: number]: 'expired' | 'session' | undefined } = {
  [EVENT.expired]: 'expired',
  [EVENT.session]: 'session',
}

export function toEvent([revision, type, key, value, previous]: EventResult, how: Decoding): WatchEvent<As> {
  if (type > EVENT.session) throw nonsense('event of a key')
  return {
    revision,
    type: type === EVENT.put ? 'put' : 'delete',
    ...(REASONS[type] !== undefined && { reason: REASONS[type] }),
    key: toUserKey(key, how),
    value: type === EVENT.put ? toMaybe(value, how, key, revision) : undefined,
    previous: toMaybe(previous, how, key, revision),
  }
}
