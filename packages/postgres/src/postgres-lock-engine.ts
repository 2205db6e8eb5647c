// Driver: the lock engine on PostgreSQL. Each call is one statement with a function of sql-schema.ts.

import { asBuffer, prefixEnd } from '@latchkey/base'
import type { Capabilities, EngineHold, LockEngine, ReleaseAnswer, TakeAnswer } from '@latchkey/lock'
import { CAPS, type ContextArg, type LockInfoResult } from '@latchkey/protocol'
import type { Listening } from './listen-connection.js'
import { toLockError } from './outcome-of-pg-error.js'
import type { PgClient } from './pg-types.js'

interface HoldRow {
  readonly now: string
  readonly code: string
  readonly id: string | null
  readonly token: string | null
  readonly deadline: string | null
  readonly acquires: number | null
  readonly context: Uint8Array | null
  readonly is_text: boolean | null
}

interface TakeRow extends HoldRow {
  readonly queued: boolean
  readonly again: string | null
}

interface QueryRow {
  readonly key: Uint8Array
  readonly id: string
  readonly token: string
  readonly acquires: number
  readonly remaining: string
  readonly held: string
  readonly context: Uint8Array | null
  readonly is_text: boolean
  readonly waiters: string
  readonly queue: readonly { id: string; waited: number; context: string | null; is_text: boolean }[] | null
}

const MILLIS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

export class PostgresEngine implements LockEngine {
  readonly capabilities: Capabilities
  readonly #client: PgClient
  readonly #table: string
  readonly #listening: Listening | undefined
  readonly #end: () => Promise<void>

  /** Without `listening`, waiters only poll. */
  constructor(client: PgClient, table: string, listening: Listening | undefined, end: () => Promise<void>) {
    this.#client = client
    this.#table = table
    this.#listening = listening
    this.#end = end
    this.capabilities = {
      fencing: 'enforced',
      queue: 'fair',
      wakeUp: listening === undefined ? 'poll' : 'push',
      survives: 'restart',
      time: 'server',
    }
  }

  async take(of: Parameters<LockEngine['take']>[0]): Promise<TakeAnswer> {
    const { key, id, lease, context, queues, patience, before } = of
    const [bytes, isText] = contextValues(context)
    const [row] = await this.#rows<TakeRow>('SELECT * FROM #_take($1, $2, $3, $4, $5, $6, $7, $8)', [
      asBuffer(key),
      id,
      lease,
      bytes,
      isText,
      queues,
      patience,
      before,
    ])
    const { code, queued, again } = only(row)
    // begin() opens the connection for notifications. A notification that the database sends before this
    // connection is ready is lost. So Listening wakes all waiters as soon as the connection is ready.
    if (queued) this.#listening?.begin()
    return {
      now: Number(only(row).now),
      code: code as TakeAnswer['code'],
      hold: holdOf(only(row)),
      queued,
      again: again === null ? undefined : Number(again),
    }
  }

  async renew(list: Parameters<LockEngine['renew']>[0]): ReturnType<LockEngine['renew']> {
    const rows = await this.#rows<HoldRow & { nth: number }>('SELECT * FROM #_renew($1, $2, $3)', [
      list.map(({ key }) => asBuffer(key)),
      list.map(({ id }) => id),
      list.map(({ lease }) => lease),
    ])
    rows.sort((a, b) => a.nth - b.nth)
    return { now: earliest(rows), holds: rows.map(holdOf) }
  }

  async release(key: Uint8Array, id: string, all: boolean): Promise<ReleaseAnswer> {
    const values = [asBuffer(key), id, all]
    const [row] = await this.#rows<HoldRow>('SELECT * FROM #_release($1, $2, $3)', values)
    const { now, code } = only(row)
    return { now: Number(now), code: code as ReleaseAnswer['code'], hold: holdOf(only(row)) }
  }

  async cancel(tickets: Parameters<LockEngine['cancel']>[0]): ReturnType<LockEngine['cancel']> {
    const rows = await this.#rows<{ nth: number; now: string; token: string }>(
      'SELECT * FROM #_cancel($1, $2)',
      [tickets.map(({ key }) => asBuffer(key)), tickets.map(({ id }) => id)],
    )
    rows.sort((a, b) => a.nth - b.nth)
    return { now: earliest(rows), tokens: rows.map(({ token }) => Number(token)) }
  }

  async rotate(key: Uint8Array, id: string): ReturnType<LockEngine['rotate']> {
    const [row] = await this.#rows<HoldRow>('SELECT * FROM #_rotate($1, $2)', [asBuffer(key), id])
    return { now: Number(only(row).now), hold: holdOf(only(row)) }
  }

  async forceRelease(key: Uint8Array, token: number): ReturnType<LockEngine['forceRelease']> {
    const [row] = await this.#rows<{ now: string; ended: boolean }>('SELECT * FROM #_force_release($1, $2)', [
      asBuffer(key),
      token,
    ])
    return { now: Number(only(row).now), ended: only(row).ended }
  }

  async query({ prefix, isKey, queue }: Parameters<LockEngine['query']>[0]): ReturnType<LockEngine['query']> {
    const { now } = await this.time()
    const end = prefix === null ? undefined : prefixEnd(prefix)
    const rows = await this.#rows<QueryRow>(QUERY, [
      now,
      prefix === null ? Buffer.alloc(0) : asBuffer(prefix),
      end === undefined ? null : asBuffer(end),
      isKey,
      queue,
      CAPS.queryLines,
    ])
    return { now, rows: rows.map(infoOf) }
  }

  async time(): ReturnType<LockEngine['time']> {
    const [row] = await this.#rows<{ now: string }>(`SELECT ${MILLIS} AS now`, [])
    return { now: Number(only(row).now) }
  }

  listen(wake: (id: string | undefined) => void): () => void {
    return this.#listening?.on(wake) ?? (() => {})
  }

  async close(): Promise<void> {
    await this.#listening?.end()
    await this.#end()
  }

  async #rows<Row>(text: string, values: unknown[]): Promise<Row[]> {
    try {
      const { rows } = await this.#client.query(text.replaceAll('#', this.#table), values)
      return rows as Row[]
    } catch (error) {
      throw toLockError(error, missing(this.#table))
    }
  }
}

const missing = (table: string) =>
  `The table ${table} or its functions are missing, or of another version. Run migrate() once, or what sql() prints.`

const QUERY = `
SELECT l.key, l.id, l.token, l.acquires, l.deadline - $1 AS remaining, greatest(0, $1 - l.since) AS held, l.context, l.is_text,
  (SELECT count(*) FROM # AS w WHERE w.key = l.key AND w.place > 0 AND w.deadline >= $1) AS waiters,
  CASE WHEN $5::boolean THEN (
    SELECT json_agg(json_build_object('id', w.id, 'waited', greatest(0, $1 - w.since),
      'context', encode(w.context, 'base64'), 'is_text', w.is_text) ORDER BY w.place)
    FROM # AS w WHERE w.key = l.key AND w.place > 0 AND w.deadline >= $1
  ) END AS queue
FROM # AS l
WHERE l.place = 0 AND l.id IS NOT NULL AND l.deadline >= $1
  AND CASE WHEN $4::boolean THEN l.key = $2::bytea ELSE l.key >= $2::bytea AND ($3::bytea IS NULL OR l.key < $3::bytea) END
ORDER BY l.key LIMIT $6`

function only<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new TypeError('PostgreSQL answered without a row')
  return row
}

/**
 * The SQL function reads the clock again for each hold of a list. Law EN8 (lock-engine-interface.ts) allows
 * any reading that was made after the client sent the request. The earliest reading leaves the holder the
 * most time of its lease.
 */
const earliest = (rows: readonly { readonly now: string }[]): number =>
  Math.min(...rows.map(({ now }) => Number(now)))

function holdOf({ id, token, deadline, acquires, context, is_text }: HoldRow): EngineHold | undefined {
  if (id === null) return undefined
  return {
    id,
    token: Number(token),
    deadline: Number(deadline),
    acquires: Number(acquires),
    context: contextOf(context, is_text === true),
  }
}

function infoOf(row: QueryRow): LockInfoResult {
  const { key, id, token, acquires, remaining, waiters, held, context, is_text, queue } = row
  const shown = queue?.map(
    (one) =>
      [
        one.id,
        contextOf(one.context === null ? null : Buffer.from(one.context, 'base64'), one.is_text),
        Number(one.waited),
        0,
      ] as const,
  )
  const [owner, counted] = [contextOf(context, is_text), Number(waiters)]
  return [key, id, owner, Number(token), acquires, Number(remaining), counted, Number(held), shown ?? null, 0]
}

const contextValues = (context: ContextArg): [Uint8Array | null, boolean] =>
  typeof context === 'string'
    ? [Buffer.from(context), true]
    : [context === null ? null : asBuffer(context), false]

const contextOf = (bytes: Uint8Array | null, isText: boolean): ContextArg =>
  bytes !== null && isText ? Buffer.from(bytes).toString() : bytes
