// Door: the key-value calls over an engine. A mistake rejects; only what answers with an iterator throws at the call.

import {
  type As,
  type AtRevision,
  type Bytes,
  CAPS,
  type Command,
  type EventResult,
  type InitialWatchEvent,
  type InitialWatchOptions,
  DEFAULT_TIMEOUT,
  WRITE_OPTIONS,
  type CallOptions as UserCallOptions,
  type Duration,
  type KeyLife,
  type KeyValue,
  type KnownNames,
  PUT_OPTIONS,
  type PutOptions,
  type KeyValueCalls,
  LatchkeyError,
  type Read,
  type ReadOptions,
  type Txn,
  type Value,
  type WatchEvent,
  type WatchTarget,
  type WriteOp,
  type WriteOptions,
  type Range,
  type RangeIterator,
  batchArgs,
  bindsToSession,
  callArgs,
  compareAndPutAllArgs,
  compareAndPutArgs,
  containsArgs,
  deleteAllArgs,
  deleteArgs,
  deleteRangeArgs,
  encodeCommand,
  getAndPutArgs,
  getArgs,
  getEntryArgs,
  incrementArgs,
  initialTargetArgs,
  mergeArgs,
  multiGetArgs,
  nextSequenceArgs,
  overBudget,
  putAllArgs,
  putArgs,
  putIfAbsentArgs,
  rangeArgs,
  readArgs,
  resetSequenceArgs,
  sequenceArgs,
  toAs,
  toBatch,
  toBlock,
  toBoolean,
  toCount,
  toEntryRead,
  toIncremented,
  toEvent,
  toInitialPut,
  toMany,
  toMaybe,
  toNothing,
  toRevised,
  toTxn,
  touchArgs,
  toUserKey,
  toUserValue,
  txnArgs,
  watchArgs,
  watchOptionsArgs,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { Mirror, type MirrorOptions, type MirrorTarget } from './mirror.js'
import { attempt } from './reject-not-throw.js'
import { type Row, collect, iterate } from './range-iterator.js'
import { type InitialItem, WatchIterator, openInitial } from './watch-iterator.js'

/** Of a hold: its guard goes with every write; one that is known to be lost is not even asked. */
export interface HoldGuard {
  readonly key: Uint8Array
  readonly token: number
  knownLost(): boolean
}

export class KeyValues implements KeyValueCalls {
  readonly #engine: Engine
  readonly #as: As
  readonly #hold: HoldGuard | undefined

  constructor(engine: Engine, as: As, hold?: HoldGuard) {
    this.#engine = engine
    this.#as = as
    this.#hold = hold
  }

  // ---- reads

  get(key: Bytes, options?: ReadOptions): Promise<Value> {
    return this.#read('get', () => getArgs(key), options, toMaybe)
  }

  multiGet(keys: readonly Bytes[], options?: ReadOptions): Promise<Value[]> {
    return this.#read('multiGet', () => multiGetArgs(keys), options, toMany)
  }

  containsKey(key: Bytes, options?: ReadOptions): Promise<boolean> {
    return this.#read('containsKey', () => containsArgs(key), options, toBoolean)
  }

  getEntry(key: Bytes, options?: ReadOptions) {
    return this.#read('getEntry', () => getEntryArgs(key), options, toEntryRead)
  }

  getLatestSequence(key: Bytes, options?: ReadOptions): Promise<number> {
    return this.#read('getLatestSequence', () => sequenceArgs(key), options, toCount)
  }

  #read<T>(
    call: string,
    make: () => Read,
    options: unknown,
    convert: (result: unknown, as: As) => T,
  ): Promise<T> {
    try {
      const read = make()
      const given = readArgs(call, options, this.#as)
      const { as } = given
      return this.#engine.read(read, given.stale, given, (result) => convert(result, as))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  // ---- writes

  put(key: Bytes, value: Bytes, options?: PutOptions) {
    return this.#write('put', (all) => putArgs(key, value, all), options, toRevised, PUT_OPTIONS)
  }

  touch(key: Bytes, ttl: Duration, options?: WriteOptions): Promise<boolean> {
    return this.#write('touch', (all) => touchArgs(key, ttl, all), options, toBoolean)
  }

  putAll(
    entries: Iterable<({ key: Bytes; value: Bytes } & KeyLife) | readonly [Bytes, Bytes]>,
    options?: PutOptions,
  ) {
    return this.#write('putAll', (all) => putAllArgs(entries, all), options, toRevised, PUT_OPTIONS)
  }

  putIfAbsent(key: Bytes, value: Bytes, options?: WriteOptions): Promise<Value> {
    return this.#write('putIfAbsent', (all) => putIfAbsentArgs(key, value, all), options, toMaybe)
  }

  getAndPut(key: Bytes, value: Bytes, options?: WriteOptions): Promise<Value> {
    return this.#write('getAndPut', (all) => getAndPutArgs(key, value, all), options, toMaybe)
  }

  compareAndPut(
    key: Bytes,
    expect: Bytes | undefined,
    update: Bytes | undefined,
    options?: WriteOptions,
  ): Promise<boolean> {
    return this.#write(
      'compareAndPut',
      (all) => compareAndPutArgs(key, expect, update, all),
      options,
      toBoolean,
    )
  }

  compareAndPutAll(
    list: readonly { key: Bytes; expect?: Bytes | undefined; update?: Bytes | undefined }[],
    options?: WriteOptions,
  ): Promise<boolean> {
    return this.#write('compareAndPutAll', (all) => compareAndPutAllArgs(list, all), options, toBoolean)
  }

  merge(key: Bytes, value: Bytes, options?: WriteOptions) {
    return this.#write('merge', (all) => mergeArgs(key, value, all), options, toRevised)
  }

  increment(key: Bytes, by = 1, options?: WriteOptions) {
    return this.#write('increment', (all) => incrementArgs(key, by, all), options, toIncremented)
  }

  delete(key: Bytes, options?: WriteOptions): Promise<number> {
    return this.#write('delete', (all) => deleteArgs(key, all), options, toCount)
  }

  deleteAll(keys: readonly Bytes[], options?: WriteOptions): Promise<number> {
    return this.#write('deleteAll', (all) => deleteAllArgs(keys, all), options, toCount)
  }

  deleteRange(start: Bytes, end: Bytes, options?: WriteOptions): Promise<number> {
    return this.#write('deleteRange', (all) => deleteRangeArgs(start, end, all), options, toCount)
  }

  batch(ops: readonly WriteOp[], options?: WriteOptions) {
    return this.#write('batch', (all) => batchArgs(ops, all), options, toBatch)
  }

  txn(txn: Txn, options?: WriteOptions) {
    return this.#write('txn', (all) => txnArgs(txn, all), options, toTxn)
  }

  getSequence(key: Bytes, step: number, options?: WriteOptions) {
    return this.#write('getSequence', (all) => nextSequenceArgs(key, step, all), options, toBlock)
  }

  resetSequence(key: Bytes, options?: WriteOptions): Promise<undefined> {
    return this.#write('resetSequence', (all) => resetSequenceArgs(key, all), options, toNothing)
  }

  /** Encoded before the call returns: what the caller does with its arrays afterwards changes nothing. */
  #write<T>(
    call: string,
    make: (options: unknown) => Command,
    options: WriteOptions | undefined,
    convert: (result: unknown, as: As) => T,
    known: KnownNames = WRITE_OPTIONS,
  ): Promise<T> {
    try {
      const given = callArgs(call, options, DEFAULT_TIMEOUT, known)
      const as = toAs(asOf(options), this.#as)
      const command = make(this.#guarded(options))
      if (this.#hold?.knownLost()) throw new LatchkeyError('ERR_FENCED')
      // Nothing but its own session keeps such a key.
      if (bindsToSession(command)) this.#engine.ephemeralKeys.bind()
      return this.#engine.command(encoded(command), given, (result) => convert(result, as))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #guarded(options: UserCallOptions | undefined): unknown {
    const hold = this.#hold
    return hold ? { ...options, guard: { key: hold.key, token: hold.token } } : options
  }

  // ---- ranges

  scan(range?: Range, options?: ReadOptions): Promise<AtRevision<KeyValue>> {
    return attempt(() => {
      const asked = rangeArgs(range)
      const given = readArgs('scan', options, this.#as)
      return collect(this.#engine, asked, given, (row) => toKeyValue(row, given.as))
    })
  }

  entries(range?: Range, options?: ReadOptions): RangeIterator<KeyValue> {
    return this.#iterate('entries', range, options, toKeyValue)
  }

  keys(range?: Range, options?: ReadOptions): RangeIterator<Value> {
    return this.#iterate('keys', range, options, ([key], as) => toUserKey(key, as), true)
  }

  values(range?: Range, options?: ReadOptions): RangeIterator<Value> {
    return this.#iterate('values', range, options, ([, value], as) =>
      value === null ? undefined : toUserValue(value, as),
    )
  }

  #iterate<T>(
    call: string,
    range: Range | undefined,
    options: ReadOptions | undefined,
    convert: (row: Row, as: As) => T,
    keysOnly = false,
  ): RangeIterator<T> {
    const asked = rangeArgs(range)
    const given = readArgs(call, options, this.#as)
    const wanted = keysOnly ? { ...asked, keysOnly } : asked
    return iterate(this.#engine, wanted, given, (row) => convert(row, given.as))
  }

  watch(
    target: WatchTarget,
    options: InitialWatchOptions,
  ): AsyncIterableIterator<InitialWatchEvent<WatchEvent>>
  watch(target: WatchTarget, options?: ReadOptions): AsyncIterableIterator<WatchEvent>
  watch(
    target: WatchTarget,
    options?: ReadOptions,
  ): AsyncIterableIterator<WatchEvent> | AsyncIterableIterator<InitialWatchEvent<WatchEvent>> {
    const { as, signal, initial, resync } = watchOptionsArgs(options, this.#as)
    if (initial) {
      const bounds = initialTargetArgs(target)
      return new WatchIterator({
        open: (sink) => openInitial(this.#engine, bounds, resync, sink),
        convert: (item: InitialItem) => toInitialEvent(item, as),
        signal,
      })
    }
    const { start, end, from } = watchArgs(target)
    return new WatchIterator({
      open: (sink) => this.#engine.watch(start, end, from, sink),
      convert: (event: EventResult) => toEvent(event, as),
      signal,
    })
  }

  mirror(target: MirrorTarget, options?: MirrorOptions): Promise<Mirror> {
    return attempt(() => Mirror.open(this.#engine, target, options, this.#as))
  }
}

function toInitialEvent(item: InitialItem, as: As): InitialWatchEvent<WatchEvent> {
  switch (item.is) {
    case 'reset':
      return { type: 'reset' }
    case 'synced':
      return { type: 'synced', revision: item.revision }
    case 'row':
      return toInitialPut(item.row as readonly [Uint8Array, Uint8Array, number], as)
    case 'event':
      return toEvent(item.event, as)
  }
}

/** Writes that answer with a value take `as` too. */
const asOf = (options: unknown): unknown => (options as { readonly as?: unknown } | undefined)?.as

function toKeyValue([key, value]: Row, as: As): KeyValue {
  return { key: toUserKey(key, as), value: value === null ? undefined : toUserValue(value, as) }
}

/** Too large a command is refused before anything of it is sent. */
function encoded(command: Command): Uint8Array {
  const reason = overBudget(command)
  if (reason !== null) throw new LatchkeyError('ERR_TOO_LARGE', reason)
  const body = encodeCommand(command)
  if (body.length <= CAPS.commandBytes) return body
  throw new LatchkeyError(
    'ERR_TOO_LARGE',
    `The call has ${body.length} bytes in all; at most ${CAPS.commandBytes} are allowed. Split it.`,
  )
}
