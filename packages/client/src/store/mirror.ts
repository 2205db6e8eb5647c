// Driver: a copy of a part of the store in this process, as a Map that follows each change.
//
// Laws (C62)
//   1  Each state that a mirror shows is a state that the store had. All changes of one revision are applied
//      before a caller can read. If the members no longer have a change that the mirror needs, the mirror
//      reads the whole range again. The mirror shows the old state until the new state is complete.
//   2  A mirror never shows an older state than it has shown before.
//   3  An iteration shows one state, even if the mirror changes meanwhile.

import { Emitter, binary, equalBytes, onAbort } from '@latchkey/base'
import {
  type As,
  type Bytes,
  type Decoding,
  type Duration,
  type EventResult,
  LatchkeyError,
  type KeyAs,
  type OnUndecodable,
  type Synced,
  type ValueAs,
  type WatchEvent,
  type WatchTarget,
  boundsBelow,
  callArgs,
  getArgs,
  initialTargetArgs,
  decodingArg,
  knownNames,
  readBelow,
  toEvent,
  toUserKey,
  toUserValue,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { type RangeStep, followRange } from './range-follower.js'

export interface MirrorEvents<A extends As = 'bytes', T = unknown> extends Record<string, unknown> {
  /**
   * Emitted once for each key that changed, after all changes of its revision are shown. If the mirror had to
   * read the whole range again, the events are the differences between the old and the new state, with the
   * revision of the new state. A value that cannot be decoded is given as bytes.
   */
  change: WatchEvent<A, T>
  /**
   * Emitted when the mirror has read the whole range again, because the members no longer had all changes
   * since the shown state.
   */
  synced: Synced
  /** Emitted at the end of the mirror. The error is undefined after `close()`. */
  closed: { error: LatchkeyError | undefined }
}

interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly revision: number
}

/** The target has exactly one of `key`, `prefix` and `range`. */
export type MirrorTarget = Omit<WatchTarget, 'from'>
export interface MirrorOptions<A extends As = As> {
  as?: A | undefined
  /** What `get` and iterations do with a value that cannot be decoded. */
  onUndecodable?: OnUndecodable | undefined
  /** The time limit for the first state. Default 30 s. */
  timeout?: Duration | undefined
  /** An abort ends the mirror at any time, with ERR_ABORTED. */
  signal?: AbortSignal | undefined
}

const MIRROR_OPTIONS = knownNames('as', 'onUndecodable', 'timeout', 'signal')
const FIRST_SYNC_TIMEOUT = 30_000
const EVENTS = ['change', 'synced', 'closed'] as const

/**
 * A copy of the keys and values below a prefix, of a range, or of one key. Reads need no network. A read
 * shows a state that the store had, and this state may lack the last writes until their events arrive.
 */
export class Mirror<A extends As = 'bytes', T = unknown> implements AsyncDisposable {
  readonly #how: Decoding
  readonly #events = new Emitter<MirrorEvents<A, T>>(EVENTS)
  readonly #stop = new AbortController()
  #rows = new Map<string, Row>()
  #next = new Map<string, Row>()
  #revision = 0
  #isShown = false
  #isClosed = false
  #error: LatchkeyError | undefined

  private constructor(how: Decoding) {
    this.#how = how
  }

  static async open(
    engine: Engine,
    target: unknown,
    options: unknown,
    standard: Decoding,
  ): Promise<Mirror<As>> {
    const bounds = boundsBelow(standard.prefix, initialTargetArgs(target))
    const { timeout, signal } = callArgs('mirror', options, FIRST_SYNC_TIMEOUT, MIRROR_OPTIONS)
    const mirror = new Mirror<As>(decodingArg(options, standard))
    engine.pass({ signal })
    const offAbort = signal
      ? onAbort(signal, () =>
          mirror.#end(new LatchkeyError('ERR_ABORTED', undefined, { cause: signal.reason })),
        )
      : () => {}
    mirror.#events.once('closed', offAbort)
    await new Promise<void>((resolve, reject) => {
      mirror.#events.once('closed', ({ error }) => reject(error))
      const following = { resync: true, signal: mirror.#stop.signal, timeout: engine.deadlineOf({ timeout }) }
      mirror.#follow(followRange(engine, bounds, following), resolve).catch((error) => mirror.#end(error))
    })
    return mirror
  }

  async #follow(steps: AsyncIterable<RangeStep>, synced: () => void): Promise<void> {
    for await (const step of steps) {
      if (this.#isClosed) return
      this.#take(step)
      if (step.is === 'synced') synced()
    }
  }

  #take(step: RangeStep): void {
    switch (step.is) {
      case 'reset':
        this.#next = new Map()
        return
      case 'rows':
        for (const [key, value, revision] of step.rows)
          this.#next.set(binary(key), own(key, value as Uint8Array, revision as number))
        return
      case 'synced':
        return this.#show(step.revision)
      case 'events':
        return this.#apply(step.events)
    }
  }

  // ---- Applying changes

  /** Shows the collected state (laws 1 and 2 of C62). */
  #show(revision: number): void {
    const isFirst = !this.#isShown
    this.#isShown = true
    if (revision < this.#revision) throw wentBack(this.#revision, revision)
    const before = this.#rows
    this.#rows = this.#next
    this.#next = new Map()
    this.#revision = revision
    if (isFirst) return
    for (const change of differences(before, this.#rows, revision)) this.#emitChange(change)
    this.#events.emit('synced', { type: 'synced', revision })
  }

  /** Applies all events of a revision before it reports any of them (law 1 of C62). */
  #apply(events: readonly EventResult[]): void {
    let same: EventResult[] = []
    for (const [i, event] of events.entries()) {
      const [revision] = event
      this.#set(event)
      same.push(event)
      if (events[i + 1]?.[0] === revision) continue
      this.#revision = revision
      for (const one of same) this.#emitChange(one)
      same = []
    }
  }

  #set([revision, , key, value]: EventResult): void {
    if (value === null) this.#rows.delete(binary(key))
    else this.#rows.set(binary(key), own(key, value, revision))
  }

  #emitChange(event: EventResult): void {
    if (this.#isClosed) return
    this.#events.emit('change', asFarAsPossible(event, this.#how) as WatchEvent<A, T>)
  }

  // ---- Reading

  /**
   * Returns the value of a key, or undefined if the key is absent. Throws if the value cannot be decoded.
   * With `as: 'bytes'` each call returns a copy.
   */
  get(key: Bytes): ValueAs<A, T> | undefined {
    const row = this.#row(key)
    return row === undefined ? undefined : this.#value(row)
  }

  #key({ key }: Row): KeyAs<A> {
    return toUserKey(key, this.#how) as KeyAs<A>
  }

  #value({ key, value, revision }: Row): ValueAs<A, T> {
    return toUserValue(value, this.#how, key, revision) as ValueAs<A, T>
  }

  has(key: Bytes): boolean {
    return this.#row(key) !== undefined
  }

  #row(key: Bytes): Row | undefined {
    return this.#rows.get(binary(readBelow(this.#how.prefix, getArgs(key))[1] as Uint8Array))
  }

  get size(): number {
    return this.#rows.size
  }

  /** The revision of the state that the mirror shows. The state includes all writes up to this revision. */
  get revision(): number {
    return this.#revision
  }

  /** The entries of one state, in no defined order. */
  *entries(): Generator<[key: KeyAs<A>, value: ValueAs<A, T>], undefined> {
    for (const row of this.#now()) yield [this.#key(row), this.#value(row)]
  }

  *keys(): Generator<KeyAs<A>, undefined> {
    for (const row of this.#now()) yield this.#key(row)
  }

  *values(): Generator<ValueAs<A, T>, undefined> {
    for (const row of this.#now()) yield this.#value(row)
  }

  forEach(run: (value: ValueAs<A, T>, key: KeyAs<A>, mirror: Mirror<A, T>) => void): void {
    for (const [key, value] of this.entries()) run(value, key, this)
  }

  [Symbol.iterator](): Generator<[key: KeyAs<A>, value: ValueAs<A, T>], undefined> {
    return this.entries()
  }

  #now(): readonly Row[] {
    return [...this.#rows.values()]
  }

  // ---- Events

  on<Name extends keyof MirrorEvents<A, T> & string>(
    name: Name,
    listener: (event: MirrorEvents<A, T>[Name]) => void,
  ): this {
    this.#events.on(name, listener)
    return this
  }

  once<Name extends keyof MirrorEvents<A, T> & string>(
    name: Name,
    listener: (event: MirrorEvents<A, T>[Name]) => void,
  ): this {
    this.#events.once(name, listener)
    return this
  }

  off<Name extends keyof MirrorEvents<A, T> & string>(
    name: Name,
    listener: (event: MirrorEvents<A, T>[Name]) => void,
  ): this {
    this.#events.off(name, listener)
    return this
  }

  // ---- The end

  /** True after the end of the mirror. The mirror still shows its last state. */
  get closed(): boolean {
    return this.#isClosed
  }

  /** The error that ended the mirror. The error is undefined before the end, and after `close()`. */
  get error(): LatchkeyError | undefined {
    return this.#error
  }

  close(): Promise<void> {
    this.#end(undefined)
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #end(error: unknown): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#error = error as LatchkeyError | undefined
    this.#next = new Map()
    this.#stop.abort()
    this.#events.emit('closed', { error: this.#error })
  }
}

/** Copies key and value. Otherwise the mirror would keep the whole received frame in memory. */
const own = (key: Uint8Array, value: Uint8Array, revision: number): Row => ({
  key: new Uint8Array(key),
  value: new Uint8Array(value),
  revision,
})

function* differences(
  before: ReadonlyMap<string, Row>,
  now: ReadonlyMap<string, Row>,
  revision: number,
): Iterable<EventResult> {
  for (const [name, { key, value }] of before) if (!now.has(name)) yield [revision, 1, key, null, value]
  for (const [name, { key, value }] of now) {
    const old = before.get(name)
    if (old === undefined || !equalBytes(old.value, value))
      yield [revision, 0, key, value, old?.value ?? null]
  }
}

const asFarAsPossible = (event: EventResult, how: Decoding): WatchEvent<As> =>
  toEvent(event, { ...how, onUndecodable: 'bytes' })

const wentBack = (shown: number, read: number) =>
  new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The store is at revision ${read}, and this mirror has shown revision ${shown}: it is another store. Open a mirror of it anew.`,
  )
