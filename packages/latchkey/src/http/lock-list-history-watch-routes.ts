// Door: the HTTP routes that list locks and semaphores, read the history of a lock, and watch locks and
// elections.
//
// Law: a route starts its watch before it reads the state. Without this law: the caller never learns of a
// change between the read and the start of the watch.

import { compareBytes, EMPTY, keyAfter, prefixEnd } from '@latchkey/base'
import type { LockWatchEvent } from '@latchkey/lock'
import {
  type As,
  KIND,
  type Kind,
  type LockInfoResult,
  lockKeyOf,
  nameOfLockKey,
  type QueuedResult,
  READ,
  type Read,
  toLockHistory,
} from '@latchkey/protocol'
import { keyJson } from './http-status-of-errors.js'
import { eventStream, type SentEvent } from './server-sent-events.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { saidJson } from './lock-semaphore-election-routes.js'
import { contextJson } from './owner-json.js'
import {
  afterOption,
  bytesOption,
  flagOption,
  limitOption,
  limits,
  nextOf,
} from './request-headers-and-query.js'
import { formOption } from './values-json.js'

type Key = Uint8Array

export async function listLocks(call: Call): Promise<Reply> {
  const { rows, next } = await pageOf(call, KIND.lock)
  const locks = rows.map((row) =>
    rowJson(row, keyJson(nameOfLockKey(row[0])), (permits) => ({ mode: modeOf(permits) })),
  )
  return { status: 200, body: { locks, next } }
}

export async function listSemaphores(call: Call): Promise<Reply> {
  const { rows, next } = await pageOf(call, KIND.semaphore)
  const semaphores = rows.map((row) =>
    rowJson(row, keyJson(nameOfLockKey(row[0]), 'name'), (permits) => ({ permits })),
  )
  return { status: 200, body: { semaphores, next } }
}

const modeOf = (permits: number) => (permits === 0 ? 'exclusive' : 'shared')

/**
 * Adds the fields of the row to `named`, a new object with the name. In V8, a literal that begins with a
 * spread of `named` takes more than ten times as long as Object.assign.
 */
function rowJson(row: LockInfoResult, named: object, of: (permits: number) => object): object {
  const [, id, context, fencingToken, acquires, remainingMillis, waiters, sinceMillis, queue, permits] = row
  const waiting = ([id, context, waitedMillis, permits]: QueuedResult) => ({
    id,
    ...contextJson(context),
    waitedMillis,
    ...of(permits),
  })
  return Object.assign(named, of(permits), {
    id,
    ...contextJson(context),
    fencingToken,
    acquires,
    remainingMillis,
    sinceMillis,
    waiters,
    ...(queue !== null && { queue: queue.map(waiting) }),
  })
}

interface LockPage {
  readonly rows: readonly LockInfoResult[]
  readonly next: string | null
}

/**
 * All holders of a lock are on one page, so a page may have more rows than its limit. The member reads only
 * the rows of the page, and one row more.
 */
async function pageOf(call: Call, kind: Kind): Promise<LockPage> {
  const queue = flagOption(call, 'queue', true)
  const limit = limitOption(call)
  const after = afterOption(call)
  const page = [after === undefined ? null : lockKeyOf(kind, after), limit] as const
  const read: Read = [READ.lockQuery, prefixOf(kind, bytesOption(call, 'prefix')), queue, false, page]
  const found = (await call.by.lockPort.read(read, limits(call))) as LockInfoResult[]
  let end = Math.min(found.length, limit)
  while (end > 0 && end < found.length && isSame(found[end], found[end - 1])) end += 1
  const last = end < found.length ? found[end - 1] : undefined
  return { rows: found.slice(0, end), next: last === undefined ? null : nextOf(nameOfLockKey(last[0])) }
}

const isSame = (a: LockInfoResult | undefined, b: LockInfoResult | undefined): boolean =>
  a !== undefined && b !== undefined && compareBytes(a[0], b[0]) === 0

/** Returns a prefix of stored keys. `null` means all locks, but no semaphores and no elections. */
const prefixOf = (kind: Kind, prefix: Key = EMPTY): Key | null =>
  prefix.length === 0 && kind === KIND.lock ? null : lockKeyOf(kind, prefix)

export async function lockHistory(call: Call, name: Key): Promise<Reply> {
  const read = [READ.lockHistory, lockKeyOf(KIND.lock, name)] as const
  const limit = limitOption(call)
  const all = toLockHistory(await call.by.lockPort.read(read, limits(call)))
  const rows = all.slice(Math.max(0, all.length - limit))
  // `sinceMillis` says for how long before now the answer contains every event. If older rows were left out,
  // this time begins at the oldest row of the answer.
  const sinceMillis = rows.length < all.length ? (rows[0]?.agoMillis ?? 0) : all.sinceMillis
  const history = rows.map(({ context, ...row }) => ({ ...row, ...contextJson(context ?? null) }))
  return { status: 200, body: { sinceMillis, history } }
}

/**
 * Stored keys of locks are less than this key, and keys of semaphores and elections are greater. This is also
 * true for a lock whose name begins with 0xff, because its stored key begins with 0xff and 0x00.
 */
const END_OF_LOCKS = Uint8Array.of(0xff, KIND.semaphore)

export function watchLocks(call: Call): Promise<Reply> {
  const prefix = prefixOf(KIND.lock, bytesOption(call, 'prefix'))
  const end = prefix === null ? END_OF_LOCKS : (prefixEnd(prefix) ?? null)
  return watched(call, { start: prefix, end }, [READ.lockQuery, prefix, false, false, [null, 0]])
}

export function watchLock(call: Call, name: Key): Promise<Reply> {
  const key = lockKeyOf(KIND.lock, name)
  return watched(call, { start: key, end: keyAfter(key) }, [READ.lockOwner, key])
}

const DECODING = { as: 'bytes', onUndecodable: 'bytes', prefix: EMPTY } as const

interface Span {
  readonly start: Key | null
  readonly end: Key | null
}

/**
 * The answer of `read` is not used. If the caller may not read these locks, or if no member leads, the read
 * fails, and the caller gets the error as an HTTP status.
 */
async function watched(call: Call, span: Span, read: Read): Promise<Reply> {
  const renewals = flagOption(call, 'renewals')
  const { lockPort } = call.by
  const watch = lockPort.watchLocks({ ...span, renewals, decoding: DECODING, signal: call.signal })
  try {
    await lockPort.read(read, limits(call))
  } catch (error) {
    await watch.return?.()
    throw error
  }
  return eventStream(call, sent(watch, lockEvent))
}

export async function observe(call: Call, name: Key): Promise<Reply> {
  const form = formOption(call)
  const start = lockKeyOf(KIND.election, name)
  const watch = call.by.lockPort.watchLocks({
    start,
    end: keyAfter(start),
    renewals: false,
    isElection: true,
    decoding: DECODING,
    signal: call.signal,
  })
  const events = sent(watch, ({ type, context, fencingToken, id, revision }) => {
    const eventType = EVENT_TYPES[type]
    if (eventType === undefined) return undefined
    const value = eventType === 'vacant' ? null : saidJson(context, form)
    return { data: { type: eventType, ...(eventType !== 'vacant' && { id }), value, fencingToken, revision } }
  })
  // The first event has the present state, so next() need not wait for a change. If the caller lacks a right,
  // the next() call throws the error here, and the answer gets the error's status.
  const { done, value } = await events.next()
  return eventStream(call, events, done === true ? undefined : value)
}

const EVENT_TYPES: Readonly<Record<string, string>> = {
  acquired: 'elected',
  proclaimed: 'proclaimed',
  released: 'vacant',
  expired: 'vacant',
}

type LockEvent = LockWatchEvent<As>

const lockEvent = ({ key, context, ...event }: LockEvent): SentEvent => ({
  data: { ...event, ...keyJson(key as Key), ...contextJson(context ?? null) },
})

async function* sent(
  watch: AsyncIterableIterator<LockEvent>,
  convert: (event: LockEvent) => SentEvent | undefined,
): AsyncGenerator<SentEvent, undefined> {
  for await (const event of watch) {
    const converted = convert(event)
    if (converted !== undefined) yield converted
  }
  return undefined
}
