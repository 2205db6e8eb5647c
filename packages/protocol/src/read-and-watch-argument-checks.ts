// Door: checks the arguments of reads, ranges and watches, and copies the byte arrays, because the caller may
// change its arrays later.

import { compareBytes, copyBytes, keyAfter, prefixEnd } from '@latchkey/base'
import { tooManyKeys } from './command-row-limits.js'
import { LatchkeyError } from './errors.js'
import { knownNames, refuseUnknown } from './unknown-option-errors.js'
import {
  type ReadArgs,
  readArgs,
  show,
  toBound,
  toKeyCopy,
  toList,
  toRecord,
} from './common-argument-checks.js'
import { type KeyRead, READ } from './command-and-read-wire-types.js'
import type { Decoding } from './key-and-value-encodings.js'

export const getArgs = (key: unknown): KeyRead => [READ.get, toKeyCopy(key)]
export const getEntryArgs = (key: unknown): KeyRead => [READ.getEntry, toKeyCopy(key)]
export const containsArgs = (key: unknown): KeyRead => [READ.contains, toKeyCopy(key)]
export const sequenceArgs = (key: unknown): KeyRead => [READ.sequence, toKeyCopy(key)]
export function multiGetArgs(keys: unknown): KeyRead {
  const list = toList(keys, 'keys')
  const reason = tooManyKeys(list.length)
  if (reason !== null) throw new LatchkeyError('ERR_TOO_LARGE', reason)
  return [READ.multiGet, list.map((key, at) => toKeyCopy(key, `keys[${at}]`))]
}

/**
 * A range of keys from `start` to before `end`. null means no limit on that side. `limit` is the most rows,
 * or Infinity.
 */
export interface RangeArgs {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
  readonly reverse: boolean
  readonly limit: number
  readonly keysOnly: boolean
}

const BOUND_FIELDS = knownNames('gte', 'gt', 'lte', 'lt')
const RANGE_FIELDS = knownNames('gte', 'gt', 'lte', 'lt', 'prefix', 'reverse', 'limit', 'keysOnly')
const TARGET_FIELDS = knownNames('key', 'prefix', 'range', 'from')
const INITIAL_TARGET_FIELDS = knownNames('key', 'prefix', 'range')

export function rangeArgs(range: unknown, name = 'range'): RangeArgs {
  const given = range === undefined ? {} : toRecord(range, name)
  refuseUnknown(given, RANGE_FIELDS, 'field', name)
  const reverse = toFlag(given.reverse, 'reverse')
  const keysOnly = toFlag(given.keysOnly, 'keysOnly')
  const limit = given.limit === undefined ? Number.POSITIVE_INFINITY : toLimit(given.limit)
  return { ...bounds(given), reverse, limit, keysOnly }
}

export interface Bounds {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
}

function bounds({ gte, gt, lte, lt, prefix }: Record<string, unknown>): Bounds {
  if (gte !== undefined && gt !== undefined) throw new TypeError('gte and gt cannot be given together')
  if (lte !== undefined && lt !== undefined) throw new TypeError('lte and lt cannot be given together')
  const within = prefix === undefined ? OPEN : prefixBounds(prefix)
  const start =
    gt !== undefined ? keyAfter(toBound(gt, 'gt')) : gte !== undefined ? copyBytes(toBound(gte, 'gte')) : null
  const end =
    lte !== undefined ? keyAfter(toBound(lte, 'lte')) : lt !== undefined ? copyBytes(toBound(lt, 'lt')) : null
  return { start: later(start, within.start), end: earlier(end, within.end) }
}

const OPEN: Bounds = { start: null, end: null }

function prefixBounds(prefix: unknown): Bounds {
  const start = copyBytes(toBound(prefix, 'prefix'))
  return { start, end: prefixEnd(start) ?? null }
}

const later = (a: Uint8Array | null, b: Uint8Array | null) =>
  a === null ? b : b === null ? a : compareBytes(a, b) >= 0 ? a : b
const earlier = (a: Uint8Array | null, b: Uint8Array | null) =>
  a === null ? b : b === null ? a : compareBytes(a, b) <= 0 ? a : b

export const isEmptyRange = ({ start, end }: Bounds): boolean =>
  end !== null && (start === null ? end.length === 0 : compareBytes(start, end) >= 0)

function toFlag(value: unknown, name: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false
  throw new TypeError(`${name} must be true or false; got ${show(value)}`)
}

function toLimit(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw new TypeError(`limit must be a whole number, 0 or more; got ${show(value)}`)
}

const WATCH_OPTIONS = knownNames(
  'timeout',
  'signal',
  'as',
  'onUndecodable',
  'consistency',
  'initial',
  'resync',
)

interface WatchOptionsArgs extends ReadArgs {
  readonly initial: boolean
  readonly resync: boolean
}

export function watchOptionsArgs(options: unknown, standard: Decoding): WatchOptionsArgs {
  const read = readArgs('watch', options, standard, WATCH_OPTIONS)
  const given = (options ?? {}) as Record<string, unknown>
  const initial = toFlag(given.initial, 'initial')
  const resync = toFlag(given.resync, 'resync')
  if (resync && !initial) throw new TypeError('resync needs initial: true')
  return { ...read, initial, resync }
}

/**
 * The range of a watch. `from` is the first revision to report. Without `from`, the watch begins after the
 * present revision of the store.
 */
interface WatchArgs extends Bounds {
  readonly from: number | undefined
}

export function watchArgs(target: unknown): WatchArgs {
  const given = toRecord(target, 'target')
  refuseUnknown(given, TARGET_FIELDS, 'field', 'target')
  const from = given.from === undefined ? undefined : toFrom(given.from)
  return { ...spanOf(given), from }
}

export function initialTargetArgs(target: unknown): Bounds {
  const given = toRecord(target, 'target')
  if (given.from !== undefined)
    throw new TypeError('from cannot be given together with initial: true, which begins with what is there')
  refuseUnknown(given, INITIAL_TARGET_FIELDS, 'field', 'target')
  return spanOf(given)
}

function spanOf(given: Record<string, unknown>): Bounds {
  const named = ['key', 'prefix', 'range'].filter((name) => given[name] !== undefined)
  if (named.length !== 1) throw new TypeError('target must have exactly one of key, prefix and range')
  return watched(given)
}

function watched({ key, prefix, range }: Record<string, unknown>): Bounds {
  if (key !== undefined) {
    const start = toKeyCopy(key)
    return { start, end: keyAfter(start) }
  }
  if (prefix !== undefined) return prefixBounds(prefix)
  const given = toRecord(range, 'range')
  refuseUnknown(given, BOUND_FIELDS, 'field', 'target.range')
  return bounds(given)
}

/** `from: 0` means `from: 1`, because the first revision of a store is 1. */
function toFrom(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return Math.max(1, value as number)
  throw new TypeError(`from must be a revision, a whole number; got ${show(value)}`)
}
