// Driver: a part of the store as a Map in this process, which follows.
//
// Laws (C62)
//   1  What is shown is a state that the store had: all changes of one revision are applied before anybody can look, and after a lost
//      history the new state is gathered beside the old one, which is shown until the new one is whole.
//   2  What is shown is never older than what was shown before.
//   3  An iteration shows one state, however long it takes and whatever changes meanwhile.

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
  callArgs,
  getArgs,
  initialTargetArgs,
  decodingArg,
  knownNames,
  toEvent,
  toUserKey,
  toUserValue,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { type RangeStep, followRange } from './range-follower.js'

export interface MirrorEvents<A extends As = 'bytes', T = unknown> extends Record<string, unknown> {
  /**
   * One for each key that changed, when all of its revision is shown already. After a lost history these are the differences, with the
   * revision of the new state. A value that cannot be decoded comes as its bytes.
   */
  change: WatchEvent<A, T>
  /** Once more all of it was read, since members no longer kept the history of what was missed. */
  synced: Synced
  /** It follows no more. The error is undefined where `close()` ended it. */
  closed: { error: LatchkeyError | undefined }
}

interface Row {
  readonly key: Uint8Array
  readonly value: Uint8Array
  /** Of the write that gave the key this value. */
  readonly revision: number
}

/** One of `key`, `prefix` and `range`. */
export type MirrorTarget = Omit<WatchTarget, 'from'>
export interface MirrorOptions<A extends As = As> {
  as?: A | undefined
  /** What `get` and iterations do with a value that cannot be decoded. */
  onUndecodable?: OnUndecodable | undefined
  /** Until the first state is there. Default 30 s. */
  timeout?: Duration | undefined
  /** Ends it, also later: ERR_ABORTED. */
  signal?: AbortSignal | undefined
}

const MIRROR_OPTIONS = knownNames('as', 'onUndecodable', 'timeout', 'signal')
const FIRST_SYNC_TIMEOUT = 30_000
const EVENTS = ['change', 'synced', 'closed'] as const

/**
 * Keys and values below a prefix, of a range, or one key. Reads are at once and of this process: they show a state that the store had,
 * which may be behind what was just written, by the way of an event, or for as long as no member is reached.
 */
export class Mirror<A extends As = 'bytes', T = unknown> implements AsyncDisposable {
  readonly #how: Decoding
  readonly #events = new Emitter<MirrorEvents<A, T>>(EVENTS)
  readonly #stop = new AbortController()
  #rows = new Map<string, Row>()
  /** The state that will be shown when it is whole. */
  #next = new Map<string, Row>()
  #revision = 0
  #isShown = false
  #isClosed = false
  #error: LatchkeyError | undefined

  private constructor(how: Decoding) {
    this.#how = how
  }

  /** `store.mirror` calls it. Resolves when the first state is there. */
  static async open(
    engine: Engine,
    target: unknown,
    options: unknown,
    standard: Decoding,
  ): Promise<Mirror<As>> {
    const bounds = initialTargetArgs(target)
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

  // ---- what changes

  /** Laws 1 and 2. */
  #show(revision: number): void {
    const isFirst = !this.#isShown
    this.#isShown = true
    if (revision < this.#revision) throw wentBack(this.#revision, revision)
    const before = this.#rows
    this.#rows = this.#next
    this.#next = new Map()
    this.#revision = revision
    if (isFirst) return
    for (const change of differences(before, this.#rows, revision)) this.#tell(change)
    this.#events.emit('synced', { type: 'synced', revision })
  }

  /** Law 1: revision by revision. */
  #apply(events: readonly EventResult[]): void {
    for (let at = 0; at < events.length; ) {
      const revision = (events[at] as EventResult)[0]
      const first = at
      for (; at < events.length && events[at]?.[0] === revision; at++) this.#set(events[at] as EventResult)
      this.#revision = revision
      for (const event of events.slice(first, at)) this.#tell(event)
    }
  }

  #set([revision, , key, value]: EventResult): void {
    if (value === null) this.#rows.delete(binary(key))
    else this.#rows.set(binary(key), own(key, value, revision))
  }

  #tell(event: EventResult): void {
    if (this.#isClosed) return
    this.#events.emit('change', asFarAsPossible(event, this.#how) as WatchEvent<A, T>)
  }

  // ---- what is shown

  /** Undefined where the key is absent. Throws where the value cannot be decoded. Under `as: 'bytes'` each call makes a copy. */
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
    return this.#rows.get(binary(getArgs(key)[1] as Uint8Array))
  }

  get size(): number {
    return this.#rows.size
  }

  /** Of the last change that is shown, or of the last time that all was read. What a write answered is shown once this is not less. */
  get revision(): number {
    return this.#revision
  }

  /** One state, in no certain order. */
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

  /** Law 3. */
  #now(): readonly Row[] {
    return [...this.#rows.values()]
  }

  // ---- events

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

  // ---- the end

  /** It follows no more: by `close()`, because its store was closed, or for `error`. It goes on to show the last state. */
  get closed(): boolean {
    return this.#isClosed
  }

  /** Why it follows no more; undefined while it does, and after `close()`. */
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

/** A view of a frame would keep all of the frame. */
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

/** What cannot be decoded comes as its bytes. */
const asFarAsPossible = (event: EventResult, how: Decoding): WatchEvent<As> =>
  toEvent(event, { ...how, onUndecodable: 'bytes' })

const wentBack = (shown: number, read: number) =>
  new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The store is at revision ${read}, and this mirror has shown revision ${shown}: it is another store. Open a mirror of it anew.`,
  )
