// Driver: a watch of locks. The watch begins at the call, so it reports every change that this store makes
// after the call.
//
// Law (K60): the watch continues without a gap if some member still has the changes of locks since the last
// reported change. Members keep only the last changes, in memory. If no member has these changes, the present
// holds are compared with the reported holds. A hold that has ended is reported as released, because no
// member knows how it ended. A new hold is reported as acquired. Places in queues are not reported again.

import { binary, elementAt, EMPTY } from '@latchkey/base'
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
  nameOfLockKey,
  toLockEventName,
  toLockState,
  toLockValue,
  toUserKey,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import type { WatchHandle } from '../engine/watches.js'
import type { WatchSource } from './watch-iterator.js'

type Bytes = Uint8Array

interface LockChange {
  readonly type: LockEventName
  readonly key: Bytes
  readonly id: string
  readonly context: string | Bytes | null
  readonly token: number
  readonly revision: number
}

interface LockWatchArgs {
  readonly start: Bytes | null
  readonly end: Bytes | null
  readonly renewals: boolean
  readonly isElection?: boolean
  readonly decoding: Decoding
  readonly signal: AbortSignal | undefined
}

export function lockWatch(engine: Engine, args: LockWatchArgs): WatchSource<LockChange, LockWatchEvent<As>> {
  const { decoding, signal } = args
  return {
    open: (sink) => new LockWatch(engine, args, sink),
    convert: ({ type, key, id, context, token, revision }) => ({
      type,
      key: toUserKey(nameOfLockKey(key), decoding),
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

  /**
   * Called with the present state of the locks when the watch begins, or begins again. Returns the log index
   * of that state.
   */
  #began(result: unknown): number {
    const [index, revision, rows] = toLockState(result)
    const before = this.#holds
    this.#holds = new Map()
    const changes: LockChange[] = []
    for (const [key, id, context, token] of rows) {
      const hold = { type: 'acquired', key, id, context, token, revision } as const
      this.#holds.set(nameOf(hold), hold)
    }
    const isHandedOver = this.#args.isElection === true && this.#holds.size > 0
    for (const [name, hold] of isHandedOver ? [] : before)
      if (this.#holds.get(name)?.token !== hold.token) changes.push({ ...hold, type: 'released', revision })
    for (const [name, hold] of this.#holds) if (before.get(name)?.token !== hold.token) changes.push(hold)
    const isFirst = !this.#isBegun
    this.#isBegun = true
    if (this.#args.isElection)
      this.#send(isFirst && changes.length === 0 ? [vacancy(this.#args.start ?? EMPTY, revision)] : changes)
    // A watch of locks does not report the holds that existed when the watch began.
    else if (!isFirst) this.#send(changes)
    return index
  }

  #arrived(events: readonly EventResult[]): void {
    try {
      const changes = events.map(toChange)
      for (const change of changes) this.#note(change)
      this.#send(this.#args.isElection ? changes.filter((_, i) => !isHandOver(events, i)) : changes)
    } catch (error) {
      this.end()
      this.#sink.over(error)
    }
  }

  #send(changes: readonly LockChange[]): void {
    if (changes.length > 0) this.#sink.events(changes)
  }

  #note(change: LockChange): void {
    const { type } = change
    if (type === 'released' || type === 'expired') this.#holds.delete(nameOf(change))
    else if (type !== 'queued' && type !== 'left') this.#holds.set(nameOf(change), change)
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

/**
 * Makes the first event of a watch of an election that has no leader: a 'released' event without a holder.
 */
const vacancy = (key: Bytes, revision: number): LockChange => ({
  type: 'released',
  key,
  id: '',
  context: null,
  token: 0,
  revision,
})

/**
 * True if the hold of one leader ends and the hold of the next leader begins in the same log entry, so that
 * the election always has a leader.
 */
function isHandOver(events: readonly EventResult[], at: number): boolean {
  const [index, type] = elementAt(events, at)
  if (type !== LOCK_EVENT.released && type !== LOCK_EVENT.expired) return false
  return events.slice(at + 1).some((next) => next[0] === index && next[1] === LOCK_EVENT.acquired)
}

const nameOf = ({ key, id }: LockChange): string => `${binary(key)}/${id}`

function toChange([, number, key, value]: EventResult): LockChange {
  const type = toLockEventName(number)
  if (value === null) throw new LatchkeyError('ERR_PROTOCOL', 'That is no event of a lock.')
  const [id, context, token, revision] = toLockValue(value)
  return { type, key: new Uint8Array(key), id, context, token, revision }
}
