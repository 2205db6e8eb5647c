// Driver: the lock engine on an etcd cluster. caller-at-one-lock.ts has the state of each caller at a lock,
// and lock-rows.ts has the rows in etcd.

import { asBuffer, binary, type Clock } from '@latchkey/base'
import type { Capabilities, LockEngine, ClientClock, TakeAnswer } from '@latchkey/lock'
import { CAPS, fenced, type LockInfoResult } from '@latchkey/protocol'
import { Contender, type Ports } from './caller-at-one-lock.js'
import type { EtcdCalls } from './etcd-calls.js'
import type { EtcdClient, EtcdOperation, EtcdRow, TxnAnswer } from './etcd-types.js'
import { below, decodeInfo, heldRow, type HeldRow, type LockRows, range, rowsOf } from './lock-rows.js'
import { RowWatches } from './row-watches.js'

const CAPABILITIES: Capabilities = {
  fencing: 'enforced',
  queue: 'fair',
  wakeUp: 'push',
  survives: 'failover',
  time: 'client',
}
/** etcd accepts 128 reads in one transaction. */
const MOST_READS = 100
const AT_ONCE = 16

interface EtcdTerms {
  readonly client: EtcdClient
  readonly calls: EtcdCalls
  readonly rows: LockRows
  readonly clock: Clock
  readonly time: ClientClock
  /**
   * The fraction of a lease during which the holder may use the lock. The fraction is less than 1, because
   * clocks drift.
   */
  readonly part: number
}

type Wake = (id: string | undefined) => void

export class EtcdEngine implements LockEngine {
  readonly capabilities = CAPABILITIES
  readonly #terms: EtcdTerms
  readonly #end: () => void
  readonly #ports: Ports
  readonly #contenders = new Map<string, Contender>()
  readonly #wakes = new Set<Wake>()

  constructor(terms: EtcdTerms, end: () => void) {
    this.#terms = terms
    this.#end = end
    const { client, calls, rows, clock, part } = terms
    const wake = (id: string) => {
      for (const tell of [...this.#wakes]) tell(id)
    }
    const watches = new RowWatches(client)
    this.#ports = { calls, rows, watches, clock, part, wake, now: () => this.#now() }
  }

  take(request: Parameters<LockEngine['take']>[0]): Promise<TakeAnswer> {
    return this.#of(request.key, request.id).take(request)
  }

  async renew(list: Parameters<LockEngine['renew']>[0]): ReturnType<LockEngine['renew']> {
    const kept = await Promise.all(list.map(async ({ key, id, lease }) => this.#known(key, id)?.renew(lease)))
    const keys = list.flatMap(({ key }, i) => (kept[i] === undefined ? [] : [key]))
    const held = await this.#heldRows(keys)
    const holds = await Promise.all(
      list.map(async ({ key, id }, i) => {
        const one = kept[i]
        if (one === undefined) return undefined
        const isThere = held.get(binary(key))?.lease === one.hold.lease.id
        return this.#known(key, id)?.confirm(one.hold, one.deadline, isThere)
      }),
    )
    return { now: this.#now(), holds }
  }

  async #heldRows(keys: readonly Uint8Array[]): Promise<Map<string, EtcdRow>> {
    const { calls, rows } = this.#terms
    const found = new Map<string, EtcdRow>()
    for (let from = 0; from < keys.length; from += MOST_READS) {
      const some = keys.slice(from, from + MOST_READS)
      const { responses } = await calls.txn({ success: some.map((key) => range(rows.held(key))) })
      for (const [i, key] of some.entries())
        for (const row of rowsOf(responses[i])) found.set(binary(key), row)
    }
    return found
  }

  release(key: Uint8Array, id: string, all: boolean): ReturnType<LockEngine['release']> {
    return this.#of(key, id).release(all)
  }

  async cancel(tickets: Parameters<LockEngine['cancel']>[0]): ReturnType<LockEngine['cancel']> {
    // The clock is read before the requests. etcd ends a hold only after the cancel request has arrived. So
    // `now` in the answer is never later than the end of a hold.
    const now = this.#now()
    const tokens = await Promise.all(tickets.map(async ({ key, id }) => this.#known(key, id)?.cancel() ?? 0))
    return { now, tokens }
  }

  async rotate(key: Uint8Array, id: string): ReturnType<LockEngine['rotate']> {
    const hold = await this.#known(key, id)?.rotate()
    return { now: this.#now(), hold }
  }

  async forceRelease(key: Uint8Array, token: number): ReturnType<LockEngine['forceRelease']> {
    const { calls, rows } = this.#terms
    const { succeeded } = await calls.txn(rows.force(key, token))
    return { now: this.#now(), ended: succeeded }
  }

  async query(of: Parameters<LockEngine['query']>[0]): ReturnType<LockEngine['query']> {
    const { calls, rows, clock } = this.#terms
    const prefix = of.prefix ?? new Uint8Array(0)
    const find = (row: (key: Uint8Array) => Buffer) =>
      of.isKey ? range(row(prefix)) : below(row(prefix), { limit: CAPS.queryLines })
    const waiting = of.isKey ? rows.waiters(prefix) : rows.waitersBelow(prefix)
    const { responses } = await calls.txn({
      success: [
        find(rows.held),
        find(rows.info),
        find(rows.token),
        below(waiting, { limit: CAPS.queryLines }),
      ],
    })
    const [held, info, token, waiters] = responses.map(rowsOf)
    const start = rows.held(new Uint8Array(0)).length
    const after = (length: number) => (row: EtcdRow) => binary(row.key.subarray(length))
    const infos = byName(info, after(rows.info(new Uint8Array(0)).length))
    const tokens = byName(token, after(rows.token(new Uint8Array(0)).length))
    const found = (held ?? []).flatMap((row) => {
      const name = after(start)(row)
      return heldRow(row.key.subarray(start), row, infos.get(name), tokens.get(name)) ?? []
    })
    const queues = queuesOf(waiters ?? [], rows.waitersBelow(new Uint8Array(0)).length)
    const told = await inParts(found, (row) => this.#remaining(row))
    const date = clock.instant().wall
    const lines = found.flatMap((row, i) =>
      told[i] === 0 ? [] : [lineOf(row, told[i] as number, queues, date, of.queue)],
    )
    return { now: this.#now(), rows: lines }
  }

  /** In ms. For a hold of another client, etcd knows the remaining time only in whole seconds. */
  async #remaining({ key, id, lease, etcdLease }: HeldRow): Promise<number> {
    const own = this.#known(key, id)?.hold
    if (own !== undefined) return own.deadline - this.#now() + 1
    return Math.min(lease, await this.#terms.calls.remaining(etcdLease))
  }

  /** Commits the operations if the hold with that token is in force. Otherwise throws ERR_FENCED. */
  async guard(key: Uint8Array, token: number, operations: readonly EtcdOperation[]): Promise<TxnAnswer> {
    const { calls, rows } = this.#terms
    const success = await Promise.all(operations.map((operation) => operation.op()))
    const answer = await calls.txn({ compare: rows.guard(key, token), success })
    if (!answer.succeeded) throw fenced({ key, token })
    return answer
  }

  async time(): ReturnType<LockEngine['time']> {
    return { now: this.#now() }
  }

  listen(wake: Wake): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  async close(): Promise<void> {
    for (const contender of this.#contenders.values()) contender.close()
    this.#contenders.clear()
    this.#ports.watches.close()
    this.#terms.calls.close()
    this.#end()
  }

  #now(): number {
    return this.#terms.time.now()
  }

  #known(key: Uint8Array, id: string): Contender | undefined {
    return this.#contenders.get(nameOf(key, id))
  }

  #of(key: Uint8Array, id: string): Contender {
    const name = nameOf(key, id)
    const known = this.#contenders.get(name)
    if (known !== undefined) return known
    const made: Contender = new Contender(key, id, this.#ports, () => {
      if (this.#contenders.get(name) === made) this.#contenders.delete(name)
    })
    this.#contenders.set(name, made)
    return made
  }
}

const nameOf = (key: Uint8Array, id: string): string => `${id}/${binary(key)}`

const byName = (rows: readonly EtcdRow[] | undefined, name: (row: EtcdRow) => string): Map<string, EtcdRow> =>
  new Map((rows ?? []).map((row) => [name(row), row]))

function queuesOf(rows: readonly EtcdRow[], start: number): Map<string, EtcdRow[]> {
  const queues = new Map<string, EtcdRow[]>()
  for (const row of [...rows].sort((a, b) => Number(a.create_revision) - Number(b.create_revision))) {
    const [name = ''] = row.key.subarray(start).toString().split('/')
    const queue = queues.get(name)
    if (queue === undefined) queues.set(name, [row])
    else queue.push(row)
  }
  return queues
}

function lineOf(
  row: HeldRow,
  remaining: number,
  queues: Map<string, EtcdRow[]>,
  date: number,
  withQueue: boolean,
): LockInfoResult {
  const { key, id, context, token, acquires, since } = row
  const queue = queues.get(asBuffer(key).toString('hex')) ?? []
  const waited = (from: number) => Math.max(0, date - from)
  const shown = queue.map(({ key: name, value }) => {
    const info = decodeInfo(value)
    const waiter = name.toString().split('/').at(-1) ?? ''
    return [waiter, info.context, waited(info.since), 0] as const
  })
  const held = waited(since)
  return [key, id, context, token, acquires, remaining, queue.length, held, withQueue ? shown : null, 0]
}

async function inParts<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = []
  for (let from = 0; from < items.length; from += AT_ONCE)
    answers.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(ask))))
  return answers
}
