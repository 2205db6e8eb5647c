// Driver: a watch of locks. It begins at the call: what this store does behind it is told.
//
// Law (K60): it goes on without a gap wherever a member still has the changes of locks from there on, and members keep the last ones in
// memory. Where none has them, the holds that are there now are compared with those that were told last: one that is gone is told as
// released, since nobody knows any more how it ended, and a new one as acquired. Places in queues are not told anew.

import { binary } from '@latchkey/base'
import type { LockWatchEvent } from '@latchkey/lock'
import {
  type As,
  type Decoding,
  type EventResult,
  LOCK_EVENT,
  LatchkeyError,
  type LockEventName,
  WATCH_OF,
  type WatchOf,
  isLatchkeyError,
  toLockState,
  toLockValue,
  toUserKey,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import type { WatchHandle } from '../engine/watches.js'
import type { WatchSource } from './watch-iterator.js'

type Bytes = Uint8Array

export interface LockChange {
  readonly type: LockEventName
  readonly key: Bytes
  readonly id: string
  readonly context: string | Bytes | null
  readonly token: number
  readonly revision: number
}

export interface LockWatchArgs {
  readonly start: Bytes | null
  readonly end: Bytes | null
  readonly renewals: boolean
  readonly decoding: Decoding
  readonly signal: AbortSignal | undefined
}

const NAMES = new Map<number, LockEventName>(
  Object.entries(LOCK_EVENT).map(([name, number]) => [number, name as LockEventName]),
)

export function lockWatch(engine: Engine, args: LockWatchArgs): WatchSource<LockChange, LockWatchEvent<As>> {
  const { decoding, signal } = args
  return {
    open: (sink) => new LockWatch(engine, args, sink),
    convert: ({ type, key, id, context, token, revision }) => ({
      type,
      key: toUserKey(key, decoding),
      id,
      context: context === null ? undefined : typeof context === 'string' ? context : new Uint8Array(context),
      fencingToken: token,
      revision,
    }),
    signal,
  }
}

type Sink = Parameters<WatchSource<LockChange, LockWatchEvent<As>>['open']>[0]

class LockWatch implements WatchHandle {
  readonly #engine: Engine
  readonly #args: LockWatchArgs
  readonly #sink: Sink
  /** The holds in force, as they were told. */
  #holds = new Map<string, LockChange>()
  #handle: WatchHandle | undefined
  #isBegun = false
  #isOver = false

  constructor(engine: Engine, args: LockWatchArgs, sink: Sink) {
    this.#engine = engine
    this.#args = args
    this.#sink = sink
    this.#begin()
  }

  #begin(): void {
    const { start, end, renewals } = this.#args
    const of: WatchOf = renewals ? WATCH_OF.renewals : WATCH_OF.locks
    this.#handle = this.#engine.watch(
      start,
      end,
      undefined,
      {
        began: (state) => this.#began(state),
        events: (events) => this.#arrived(events),
        over: (error) => this.#ended(error),
      },
      of,
    )
  }

  /** Returns the entry up to which the state goes. */
  #began(result: unknown): number {
    const [index, revision, rows] = toLockState(result)
    const before = this.#holds
    this.#holds = new Map()
    const changes: LockChange[] = []
    for (const [key, id, context, token] of rows) {
      const hold = { type: 'acquired', key, id, context, token, revision } as const
      this.#holds.set(binary(key), hold)
    }
    for (const [name, hold] of before)
      if (this.#holds.get(name)?.token !== hold.token) changes.push({ ...hold, type: 'released', revision })
    for (const [name, hold] of this.#holds) if (before.get(name)?.token !== hold.token) changes.push(hold)
    // What was there before the watch began is not told.
    if (this.#isBegun && changes.length > 0) this.#sink.events(changes)
    this.#isBegun = true
    return index
  }

  #arrived(events: readonly EventResult[]): void {
    try {
      const changes = events.map(toChange)
      for (const change of changes) this.#note(change)
      this.#sink.events(changes)
    } catch (error) {
      this.end()
      this.#sink.over(error)
    }
  }

  #note(change: LockChange): void {
    if (change.type === 'acquired') this.#holds.set(binary(change.key), change)
    else if (change.type === 'released' || change.type === 'expired') this.#holds.delete(binary(change.key))
  }

  #ended(error: LatchkeyError): void {
    if (this.#isOver) return
    if (isLatchkeyError(error, 'ERR_COMPACTED')) this.#begin()
    else this.#sink.over(error)
  }

  taken(events: number): void {
    this.#handle?.taken(events)
  }

  end(): void {
    this.#isOver = true
    this.#handle?.end()
  }
}

function toChange([, number, key, value]: EventResult): LockChange {
  const type = NAMES.get(number)
  if (type === undefined || value === null)
    throw new LatchkeyError('ERR_PROTOCOL', 'That is no event of a lock.')
  const [id, context, token, revision] = toLockValue(value)
  return { type, key: new Uint8Array(key), id, context, token, revision }
}
