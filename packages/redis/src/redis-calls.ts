// Driver: the calls of a lock engine to one server. Each call runs one script.

import { asBuffer, prefixEnd } from '@latchkey/base'
import type { EngineHold, LockEngine, ReleaseAnswer, TakeAnswer, TakeRequest, Timed } from '@latchkey/lock'
import { CAPS, type ContextArg, type LockInfoResult } from '@latchkey/protocol'
import type { RedisConnection } from './redis-connection.js'
import type { RedisArg } from './ioredis-interface.js'
import type { Script, Scripts } from './lock-lua-scripts.js'

type HoldReply =
  | []
  | [id: Buffer, token: number, deadline: number, acquires: number, kind: Buffer, context: Buffer]
type TakeReply = [now: number, code: Buffer, queued: number, again: number, hold: HoldReply]
type WaiterReply = [id: Buffer, kind: Buffer, context: Buffer, waited: number]
type RowReply = [
  key: Buffer,
  id: Buffer,
  kind: Buffer,
  context: Buffer,
  token: number,
  acquires: number,
  remaining: number,
  waiters: number,
  held: number,
  queue: WaiterReply[],
]

type Call<Name extends keyof LockEngine> = LockEngine[Name] extends (...args: infer A) => infer R
  ? (...args: A) => R
  : never

export class RedisCalls {
  readonly #connection: RedisConnection
  readonly #scripts: Scripts
  readonly #prefix: string

  constructor(connection: RedisConnection, scripts: Scripts, prefix: string) {
    this.#connection = connection
    this.#scripts = scripts
    this.#prefix = prefix
  }

  /** `token` is the token for a new hold. Without `token`, this server takes its next token. */
  async take(of: TakeRequest, token?: number): Promise<TakeAnswer> {
    const { key, id, lease, context, queues, patience, before } = of
    const [now, code, queued, again, hold] = await this.#run<TakeReply>(this.#scripts.take, [
      asBuffer(key),
      id,
      lease,
      ...contextArgs(context),
      queues ? '1' : '0',
      patience,
      before,
      CAPS.waiters,
      token ?? '',
    ])
    return {
      now,
      code: String(code) as TakeAnswer['code'],
      hold: holdOf(hold),
      queued: queued === 1,
      again: again < 0 ? undefined : again,
    }
  }

  readonly renew: Call<'renew'> = async (list) => {
    const args = list.flatMap(({ key, id, lease }) => [asBuffer(key), id, lease])
    const [now, holds] = await this.#run<[number, HoldReply[]]>(this.#scripts.renew, args)
    return { now, holds: holds.map(holdOf) }
  }

  readonly release: Call<'release'> = async (key, id, all) => {
    const args = [asBuffer(key), id, all ? '1' : '0']
    const [now, code, hold] = await this.#run<[number, Buffer, HoldReply]>(this.#scripts.release, args)
    return { now, code: String(code) as ReleaseAnswer['code'], hold: holdOf(hold) }
  }

  readonly cancel: Call<'cancel'> = async (tickets) => {
    const args = tickets.flatMap(({ key, id }) => [asBuffer(key), id])
    const [now, tokens] = await this.#run<[number, number[]]>(this.#scripts.cancel, args)
    return { now, tokens }
  }

  async rotate(
    key: Uint8Array,
    id: string,
    token?: number,
  ): Promise<Timed & { readonly hold: EngineHold | undefined }> {
    const args = [asBuffer(key), id, token ?? '']
    const [now, hold] = await this.#run<[number, HoldReply]>(this.#scripts.rotate, args)
    return { now, hold: holdOf(hold) }
  }

  readonly forceRelease: Call<'forceRelease'> = async (key, token) => {
    const [now, ended] = await this.#run<[number, number]>(this.#scripts.forceRelease, [asBuffer(key), token])
    return { now, ended: ended === 1 }
  }

  readonly query: Call<'query'> = async ({ prefix, isKey, queue }) => {
    const args = [...rangeOf(prefix, isKey), isKey ? '1' : '0', queue ? '1' : '0', CAPS.queryLines]
    const [now, rows] = await this.#run<[number, RowReply[]]>(this.#scripts.query, args)
    return { now, rows: rows.map((row) => infoOf(row, queue)) }
  }

  readonly time: Call<'time'> = async () => {
    const [now] = await this.#run<[number]>(this.#scripts.time, [])
    return { now }
  }

  async #run<Reply>(script: Script, args: readonly RedisArg[]): Promise<Reply> {
    return (await this.#connection.run(script, [this.#prefix, ...args])) as Reply
  }
}

function rangeOf(prefix: Uint8Array | null, isKey: boolean): [RedisArg, RedisArg] {
  if (prefix === null) return ['-', '+']
  if (isKey) return [asBuffer(prefix), '']
  const end = prefixEnd(prefix)
  const high = end === undefined ? '+' : Buffer.concat([Buffer.from('('), end])
  return [Buffer.concat([Buffer.from('['), prefix]), high]
}

function holdOf([id, token, deadline, acquires, kind, context]: HoldReply): EngineHold | undefined {
  if (id === undefined || token === undefined || deadline === undefined) return undefined
  return { id: String(id), token, deadline, acquires: acquires ?? 1, context: contextOf(kind, context) }
}

function infoOf(row: RowReply, queue: boolean): LockInfoResult {
  const [key, id, kind, context, token, acquires, remaining, waiters, held, queued] = row
  const shown = queue
    ? queued.map(([one, its, of, waited]) => [String(one), contextOf(its, of), waited, 0] as const)
    : null
  return [key, String(id), contextOf(kind, context), token, acquires, remaining, waiters, held, shown, 0]
}

/** The kind of the context is 0 for none, 1 for bytes, and 2 for text. */
const contextArgs = (context: ContextArg): [RedisArg, RedisArg] =>
  context === null ? ['0', ''] : typeof context === 'string' ? ['2', context] : ['1', asBuffer(context)]

function contextOf(kind: Buffer | undefined, context: Buffer | undefined): ContextArg {
  if (kind === undefined || context === undefined || String(kind) === '0') return null
  return String(kind) === '2' ? String(context) : context
}
