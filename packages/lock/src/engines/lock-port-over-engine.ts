// Driver: implements LockPort over a lock engine. Each command of the lock objects becomes one call of the
// engine.

import { type Clock, EMPTY, equalBytes, newId, onAbort, prefixEnd, startsWith } from '@latchkey/base'
import {
  type As,
  type Command,
  type Decoding,
  type GuardArg,
  type KeyValueCalls,
  type LatchkeyError,
  type LockInfoResult,
  OP,
  type OwnerResult,
  READ,
  type Read,
  type CommandOf,
} from '@latchkey/protocol'
import { ClusterTimeBound } from '../holding/cluster-time-bound.js'
import { type LockCall, type LockCallOptions, type LockPort, taken } from '../holding/lock-port-interface.js'
import type { LockWatchEvent } from '../holding/lock-watch-types.js'
import { grantedOwner, keptOwner, releasedOwner, takenOwner } from './engine-answer-to-owner.js'
import { type EngineCall, EngineRequests, type Send } from './engine-requests.js'
import { type Ask, EngineWaits } from './engine-waiters.js'
import { compareHolds, watchIsOver } from './engine-watch.js'
import { PendingTakes } from './pending-take-requests.js'
import type { LockEngine, TakeAnswer, Timed } from './lock-engine-interface.js'

interface EngineTerms {
  readonly clock: Clock
  readonly drift: number
  readonly as: 'bytes' | 'string'
  /**
   * In ms. A waiter that is not woken asks the engine again after this time. A watch reads the locks again
   * after this time, or after MOST_WATCH_PAUSE if MOST_WATCH_PAUSE is shorter.
   */
  readonly poll: number
  /** In ms: how long a waiter that does not ask again keeps its place in the queue. */
  readonly patience: number
}

const MOST_WATCH_PAUSE = 500

export class EnginePort implements LockPort {
  readonly clock: Clock
  readonly bound: ClusterTimeBound
  readonly decoding: Decoding
  readonly closed: AbortSignal
  readonly #engine: LockEngine
  readonly #poll: number
  readonly #patience: number
  readonly #requests: EngineRequests
  readonly #waits: EngineWaits
  readonly #takes = new PendingTakes()
  readonly #attached = new Set<(isNewSession: boolean) => void>()

  constructor(engine: LockEngine, { clock, drift, as, poll, patience }: EngineTerms, closed: AbortSignal) {
    this.#engine = engine
    this.clock = clock
    this.closed = closed
    this.bound = new ClusterTimeBound(drift)
    this.decoding = { as, onUndecodable: 'error', prefix: EMPTY }
    this.#poll = poll
    this.#patience = patience
    this.#requests = new EngineRequests(engine, clock, this.bound, closed)
    this.#waits = new EngineWaits(clock, poll, () => {
      for (const run of [...this.#attached]) run(false)
    })
    const silence = engine.listen((id) => this.#waits.wake(id))
    onAbort(closed, silence)
  }

  newId(): string {
    return newId()
  }

  /** 0, because the lock objects of an engine need not wait for the end of an election. */
  electionTimeout(): number {
    return 0
  }

  noLeader(): LatchkeyError | undefined {
    return this.#requests.unreached
  }

  readonly command: LockPort['command'] = (command, options = {}, take, listener) =>
    taken(this.#command(command, options), take, listener)

  #command(command: Command, options: LockCallOptions): LockCall {
    const engine = this.#engine
    switch (command[0]) {
      case OP.tryLock:
        return this.#tryLock(command, options)
      case OP.release: {
        const [, key, id, , all] = command
        return this.#release(key, id, all, options)
      }
      case OP.renew: {
        const list = command[1].map(([key, id, , lease]) => ({ key, id, lease }))
        const owners = (now: number, holds: Parameters<typeof keptOwner>[1][]) =>
          list.map(({ id }, i) => keptOwner(id, holds[i], now))
        return this.#call(
          () => engine.renew(list),
          ({ now, holds }) => [now, owners(now, [...holds])],
          { ...options, repeats: true },
        )
      }
      case OP.cancelWait:
        return this.#cancel(
          [[command[1], command[2]]],
          (tokens) => [tokens[0] === 0 ? 'unknown' : 'granted', null],
          options,
        )
      case OP.releaseAll:
        return this.#cancel(command[1], (tokens) => tokens, options)
      case OP.forceRelease: {
        const [, key, token] = command
        return this.#call(
          () => engine.forceRelease(key, token),
          ({ ended }) => ended,
          options,
        )
      }
      case OP.rotate: {
        const [, key, id] = command
        return this.#call(
          () => engine.rotate(key, id),
          ({ hold, now }) => keptOwner(id, hold, now),
          { ...options, repeats: true },
        )
      }
      default:
        return refusedCall(new TypeError(ONLY_EXCLUSIVE))
    }
  }

  async read(read: Read, options: LockCallOptions = {}): Promise<unknown> {
    const limits = { ...options, repeats: true }
    if (read[0] === READ.revision)
      return this.#requests.call(() => this.#engine.time(), limits).result.then(() => 1)
    // An engine cannot tell a caller's place in a queue. The answer 'unknown' makes the caller ask for the
    // lock again.
    if (read[0] === READ.ticket) return ['unknown', null]
    if (read[0] === READ.lockHistory) throw new TypeError(NO_HISTORY)
    if (read[0] !== READ.lockQuery) throw new TypeError('a lock engine has no such read')
    const [, prefix, queue, isKey] = read
    const { rows } = await this.#requests.call(() => this.#engine.query({ prefix, queue, isKey }), limits)
      .result
    return rows
  }

  watchLocks(of: Parameters<LockPort['watchLocks']>[0]): AsyncIterableIterator<LockWatchEvent<As>> {
    const { start, end, renewals, decoding, signal } = of
    const isKey = start !== null && end !== null && !equalBytes(prefixEnd(start) ?? EMPTY, end)
    const isWanted = ([key]: LockInfoResult) =>
      start === null || (isKey ? equalBytes(key, start) : startsWith(key, start))
    const look = async () => {
      this.#refuseWatch(signal)
      const asked = () => this.#engine.query({ prefix: start, queue: true, isKey })
      const { now, rows } = await this.#requests.call(asked, { signal, repeats: true }).result
      return { now, rows: rows.filter(isWanted) }
    }
    return compareHolds({ decoding, renewals, look, pause: () => this.#watchPause(signal) })
  }

  onGranted(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): () => void {
    return this.#waits.add(key, id, run)
  }

  onAttached(run: (isNewSession: boolean) => void): () => void {
    this.#attached.add(run)
    return () => this.#attached.delete(run)
  }

  guardedKv(_guard: () => GuardArg, _knownLost: () => boolean): KeyValueCalls<As> {
    const refuse = () => Promise.reject(new TypeError(NO_KEYS))
    // The proxy has no `then`. Otherwise `await hold.kv` would treat the proxy as a promise.
    return new Proxy({} as KeyValueCalls<As>, {
      get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : refuse),
    })
  }

  #tryLock(command: CommandOf<'tryLock'>, options: LockCallOptions): LockCall {
    const [, key, fencingKey, keepLease, id, lease, , context, wait, share = null, flow] = command
    if (fencingKey !== null) return refusedCall(new TypeError(ONE_COUNTER))
    if (share !== null || keepLease) return refusedCall(new TypeError(ONLY_EXCLUSIVE))
    if (flow !== undefined && flow[0] !== null) return refusedCall(new TypeError(NO_FLOWS))
    const patience = this.#patience
    const send =
      (queues: boolean): Send<TakeAnswer> =>
      (before) =>
        this.#engine.take({ key, id, lease, context, queues, patience, before })
    const again: Ask = async (signal) => {
      const call = this.#requests.call(send(true), { signal, repeats: true })
      this.#takes.track(key, id, call)
      const answer = await call.result
      return { answer, owner: grantedOwner(id, answer) }
    }
    const call = this.#requests.call(send(wait !== null), { ...options, repeats: true })
    this.#takes.track(key, id, call)
    return converted(call, (answer) => {
      if (answer.queued) this.#waits.queued(key, id, answer, again)
      return [takenOwner(id, answer), answer.queued]
    })
  }

  /**
   * Releases the hold. An earlier take request of the same caller may still be under way, and may take the
   * lock after the release. So if `all` is true, the id is also cancelled, as soon as that take request can
   * no longer be applied.
   */
  #release(key: Uint8Array, id: string, all: boolean, options: LockCallOptions): LockCall {
    const isOpen = all && this.#takes.has(key, id)
    const call = this.#requests.call(() => this.#engine.release(key, id, all), { ...options, repeats: false })
    if (isOpen) this.#cancel([[key, id]], () => undefined, {}).result.catch(() => {})
    return converted(call, (answer) => releasedOwner(id, answer))
  }

  /**
   * Ends the holds and the waits of these ids. The request waits until no earlier take request of the ids can
   * be applied any more.
   */
  #cancel(
    list: readonly (readonly [key: Uint8Array, id: string])[],
    convert: (tokens: readonly number[]) => unknown,
    options: LockCallOptions,
  ): LockCall {
    const tickets = list.map(([key, id]) => ({ key, id }))
    const send = async () => {
      await Promise.all(tickets.map(({ key, id }) => this.#takes.whenFinal(key, id)))
      return this.#engine.cancel(tickets)
    }
    return this.#call(send, ({ tokens }) => convert(tokens), { ...options, repeats: true })
  }

  #call<T extends Timed>(
    send: Send<T>,
    convert: (answer: T) => unknown,
    options: LockCallOptions & { readonly repeats?: boolean },
  ): LockCall {
    return converted(this.#requests.call(send, { repeats: false, ...options }), convert)
  }

  #refuseWatch(signal: AbortSignal | undefined): void {
    if (signal?.aborted) throw watchIsOver('ERR_ABORTED', signal.reason)
    if (this.closed.aborted) throw watchIsOver('ERR_CLOSED')
  }

  #watchPause(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel()
        for (const off of offs) off()
        resolve()
      }
      const timer = this.clock.after(Math.min(this.#poll, MOST_WATCH_PAUSE), done)
      const offs = [onAbort(this.closed, done), ...(signal === undefined ? [] : [onAbort(signal, done)])]
    })
  }
}

const NO_FLOWS = 'these locks do not watch over circles of flows; leave `flow` out, or use Latchkey for it'
const ONLY_EXCLUSIVE =
  'This lock engine has exclusive locks of one key only. Leave out the mode and take several keys one by one, in one order everywhere, or use Latchkey itself.'
const ONE_COUNTER = 'This lock engine has one counter of tokens. Leave out fencingKey.'
const NO_HISTORY =
  'This lock engine keeps no history of locks. Watch the locks while they change, or use Latchkey itself.'
const NO_KEYS =
  'This lock engine stores no keys. Guard your own writes with the token of the hold, as docs/engines.md says.'

/** Returns a call that was not sent. Its result rejects with the TypeError. */
function refusedCall(error: TypeError): LockCall {
  const result = Promise.reject(error)
  return { result, sent: false, whenFinal: () => Promise.resolve() }
}

const converted = <T>(call: EngineCall<T>, convert: (answer: T) => unknown): LockCall =>
  taken(call, convert as (answer: unknown) => unknown)
