// Door: the key-value calls. A call with a wrong argument rejects its promise. A call that returns an
// iterator throws the error instead.

import {
  type As,
  type GuardArg,
  CAPS,
  type Command,
  type EventResult,
  type InitialWatchEvent,
  type WatchEvent,
  DEFAULT_TIMEOUT,
  WRITE_OPTIONS,
  type Decoding,
  type KnownNames,
  PUT_OPTIONS,
  type KeyRead,
  type KeyValueCalls,
  type KeyValueCommand,
  LatchkeyError,
  OP,
  type Read,
  batchArgs,
  bindsToSession,
  boundsBelow,
  callArgs,
  commandBelow,
  compareAndPutAllArgs,
  compareAndPutArgs,
  containsArgs,
  decodingArg,
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
  readBelow,
  resetSequenceArgs,
  sequenceArgs,
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
  type CommandOf,
  type ReadOf,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { Mirror } from './mirror.js'
import type { MirrorCalls } from './store-interface.js'
import { appliedOnce, type KeptAt } from './apply-once.js'
import { guardNamed, refusedAsLost, throwNamed } from './arguments-in-write-errors.js'
import { attempt } from './reject-not-throw.js'
import { afterWrite, withRevision } from './undecodable-value-errors.js'
import { type Row, collect, iterate } from './range-iterator.js'
import { type InitialItem, WatchIterator, openInitial } from './watch-iterator.js'

/**
 * What the calls of `hold.kv` need. Every write carries the guard of the hold: the key and the token of the
 * lock. After the store has learned that the hold is lost, no write is sent.
 */
export interface HoldGuard {
  /**
   * Returns the guard with the present token, which `hold.rotate()` changes. The key includes the prefix of
   * `store.sub(prefix)`.
   */
  guard(): GuardArg
  knownLost(): boolean
}

/**
 * The names of all calls, without the types of the calls, because these types depend on the encoding. Callers
 * get the types of `KeyValueCalls`.
 */
type Untyped = { [Name in keyof (KeyValueCalls & MirrorCalls)]: unknown }

class KeyValues implements Untyped {
  readonly #engine: Engine
  readonly #decoding: Decoding
  readonly #hold: HoldGuard | undefined
  readonly #keptAt: KeptAt | undefined

  /** With `keptAt`, each write is applied only once. */
  constructor(engine: Engine, decoding: Decoding, hold?: HoldGuard, keptAt?: KeptAt) {
    this.#engine = engine
    this.#decoding = decoding
    this.#hold = hold
    this.#keptAt = keptAt
  }

  get as(): As {
    return this.#decoding.as
  }

  // ---- Reads

  get(key: unknown, options?: unknown) {
    return this.#read('get', () => getArgs(key), options, toValueRead)
  }

  multiGet(keys: unknown, options?: unknown) {
    return this.#read('multiGet', () => multiGetArgs(keys), options, toValuesRead)
  }

  containsKey(key: unknown, options?: unknown) {
    return this.#read('containsKey', () => containsArgs(key), options, toBoolean)
  }

  getEntry(key: unknown, options?: unknown) {
    return this.#read('getEntry', () => getEntryArgs(key), options, toEntryOfRead)
  }

  getLatestSequence(key: unknown, options?: unknown) {
    return this.#read('getLatestSequence', () => sequenceArgs(key), options, toCount)
  }

  #read<T>(
    call: string,
    make: () => KeyRead,
    options: unknown,
    convert: (result: unknown, how: Decoding, read: Read) => T,
  ): Promise<T> {
    try {
      const read = readBelow(this.#decoding.prefix, make())
      const given = readArgs(call, options, this.#decoding)
      const answer = this.#engine.read(read, given.stale, given, (result) => convert(result, given, read))
      return parses(given) ? answer.catch((error) => withRevision(this.#engine, error, given)) : answer
    } catch (error) {
      return Promise.reject(error)
    }
  }

  // ---- Writes

  put(key: unknown, value: unknown, options?: unknown) {
    return this.#write('put', (all, as) => putArgs(key, value, all, as), options, toRevised, PUT_OPTIONS)
  }

  touch(key: unknown, ttl: unknown, options?: unknown) {
    return this.#write('touch', (all) => touchArgs(key, ttl, all), options, toBoolean)
  }

  putAll(entries: unknown, options?: unknown) {
    return this.#write('putAll', (all, as) => putAllArgs(entries, all, as), options, toRevised, PUT_OPTIONS)
  }

  putIfAbsent(key: unknown, value: unknown, options?: unknown) {
    return this.#write('putIfAbsent', (all, as) => putIfAbsentArgs(key, value, all, as), options, toPresent)
  }

  getAndPut(key: unknown, value: unknown, options?: unknown) {
    return this.#write('getAndPut', (all, as) => getAndPutArgs(key, value, all, as), options, toReplaced)
  }

  compareAndPut(key: unknown, expect: unknown, update: unknown, options?: unknown) {
    return this.#write(
      'compareAndPut',
      (all, as) => compareAndPutArgs(key, expect, update, all, as),
      options,
      toBoolean,
    )
  }

  compareAndPutAll(list: unknown, options?: unknown) {
    return this.#write(
      'compareAndPutAll',
      (all, as) => compareAndPutAllArgs(list, all, as),
      options,
      toBoolean,
    )
  }

  merge(key: unknown, value: unknown, options?: unknown) {
    return this.#write('merge', (all, as) => mergeArgs(key, value, all, as), options, toRevised)
  }

  increment(key: unknown, by: unknown = 1, options?: unknown) {
    return this.#write('increment', (all) => incrementArgs(key, by, all), options, toIncremented)
  }

  delete(key: unknown, options?: unknown) {
    return this.#write('delete', (all) => deleteArgs(key, all), options, toCount)
  }

  deleteAll(keys: unknown, options?: unknown) {
    return this.#write('deleteAll', (all) => deleteAllArgs(keys, all), options, toCount)
  }

  deleteRange(start: unknown, end: unknown, options?: unknown) {
    return this.#write('deleteRange', (all) => deleteRangeArgs(start, end, all), options, toCount)
  }

  batch(ops: unknown, options?: unknown) {
    return this.#write('batch', (all, as) => batchArgs(ops, all, as), options, toBatch)
  }

  txn(txn: unknown, options?: unknown) {
    return this.#write('txn', (all, as) => txnArgs(txn, all, as), options, toTxnDone)
  }

  getSequence(key: unknown, step: unknown, options?: unknown) {
    return this.#write('getSequence', (all) => nextSequenceArgs(key, step, all), options, toBlock)
  }

  resetSequence(key: unknown, options?: unknown) {
    return this.#write('resetSequence', (all) => resetSequenceArgs(key, all), options, toNothing)
  }

  /** Encodes the command before it returns, because the caller may change its arrays afterwards. */
  #write<T>(
    call: string,
    make: (options: unknown, as: As) => KeyValueCommand,
    options: unknown,
    convert: (result: unknown, how: Decoding, command: Command) => T,
    known: KnownNames = WRITE_OPTIONS,
  ): Promise<T> {
    try {
      const given = callArgs(call, options, DEFAULT_TIMEOUT, known)
      const how = decodingArg(options, this.#decoding)
      const command = this.#guarded(commandBelow(how.prefix, make(options, how.as)))
      const guard = guardNamed(command, how)
      if (guard !== undefined && this.#hold?.knownLost()) throw refusedAsLost(guard)
      // An ephemeral key exists as long as this store's session, so this store must keep the session alive.
      if (bindsToSession(command)) this.#engine.ephemeralKeys.bind()
      const body = encoded(appliedOnce(command, this.#keptAt))
      const answer = this.#engine.command(body, given, (result) => convert(result, how, command))
      if (guard === undefined && command[0] !== OP.increment) return answer
      return answer.catch((error) => throwNamed(error, command, how, guard))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Adds the guard of the hold. This guard replaces a guard that the caller has given. */
  #guarded(command: KeyValueCommand): KeyValueCommand {
    const hold = this.#hold
    if (hold === undefined) return command
    const [op, , ...rest] = command
    return [op, hold.guard(), ...rest] as unknown as KeyValueCommand
  }

  // ---- Ranges

  scan(range?: unknown, options?: unknown) {
    return attempt(() => {
      const asked = boundsBelow(this.#decoding.prefix, rangeArgs(range))
      const given = readArgs('scan', options, this.#decoding)
      return collect(this.#engine, asked, given, toKeyValue)
    })
  }

  entries(range?: unknown, options?: unknown) {
    return this.#iterate('entries', range, options, toKeyValue)
  }

  keys(range?: unknown, options?: unknown) {
    return this.#iterate('keys', range, options, ([key], how) => toUserKey(key, how), true)
  }

  values(range?: unknown, options?: unknown) {
    return this.#iterate('values', range, options, toRowValue)
  }

  #iterate<T>(
    call: string,
    range: unknown,
    options: unknown,
    convert: (row: Row, how: Decoding) => T,
    keysOnly = false,
  ) {
    const asked = boundsBelow(this.#decoding.prefix, rangeArgs(range))
    const given = readArgs(call, options, this.#decoding)
    const wanted = keysOnly ? { ...asked, keysOnly } : asked
    return iterate(this.#engine, wanted, given, convert)
  }

  watch(target: unknown, options?: unknown) {
    const given = watchOptionsArgs(options, this.#decoding)
    const { signal, initial, resync } = given
    if (initial) {
      const bounds = boundsBelow(given.prefix, initialTargetArgs(target))
      return new WatchIterator({
        open: (sink) => openInitial(this.#engine, bounds, resync, sink),
        convert: (item: InitialItem) => toInitialEvent(item, given),
        signal,
      })
    }
    const { start, end, from } = boundsBelow(given.prefix, watchArgs(target))
    return new WatchIterator({
      open: (sink) => this.#engine.watch(start, end, from, sink),
      convert: (event: EventResult) => toEvent(event, given),
      signal,
    })
  }

  mirror(target: unknown, options?: unknown) {
    return attempt(() => Mirror.open(this.#engine, target, options, this.#decoding))
  }
}

function toInitialEvent(item: InitialItem, how: Decoding): InitialWatchEvent<WatchEvent<As>> {
  switch (item.is) {
    case 'reset':
      return { type: 'reset' }
    case 'synced':
      return { type: 'synced', revision: item.revision }
    case 'row':
      return toInitialPut(item.row as readonly [Uint8Array, Uint8Array, number], how)
    case 'event':
      return toEvent(item.event, how)
  }
}

/**
 * The class KeyValues with the types that callers see. The type argument must fit the encoding that the
 * constructor gets as a value.
 */
export const TypedKeyValues = KeyValues as unknown as new <S extends As>(
  ...args: ConstructorParameters<typeof KeyValues>
) => KeyValueCalls<S> & MirrorCalls<S>

const parses = ({ as }: Decoding): boolean => as === 'json' || as === 'msgpack'

// ---- Decoding answers

const toValueRead = (result: unknown, how: Decoding, read: Read) =>
  toMaybe(result, how, (read as ReadOf<'get'>)[1])
const toValuesRead = (result: unknown, how: Decoding, read: Read) =>
  toMany(result, how, (read as ReadOf<'multiGet'>)[1])
const toEntryOfRead = (result: unknown, how: Decoding, read: Read) =>
  toEntryRead(result, how, (read as ReadOf<'getEntry'>)[1])

/**
 * Converts the result of a putIfAbsent or getAndPut: the value before the write, or undefined if the key was
 * absent.
 */
const toPresent = (result: unknown, how: Decoding, command: Command) =>
  toMaybe(result, how, (command as unknown as CommandOf<'put'>)[2])
const toReplaced = (result: unknown, how: Decoding, command: Command) =>
  afterWrite(() => toPresent(result, how, command))
const toTxnDone = (result: unknown, how: Decoding, command: Command) => {
  const [, , , then, otherwise] = command as CommandOf<'txn'>
  return afterWrite(() => toTxn(result, how, then, otherwise))
}

const toRowValue = ([key, value]: Row, how: Decoding) =>
  value === null ? undefined : toUserValue(value, how, key)

const toKeyValue = (row: Row, how: Decoding) => ({ key: toUserKey(row[0], how), value: toRowValue(row, how) })

/** Returns the encoded command, or throws ERR_TOO_LARGE if the command is too large. */
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
