// Door: checks the arguments of writes and makes commands. A command contains the caller's byte arrays, which
// the caller may change later. So the command must be encoded before the call returns.

import { CAPS } from './fixed-limits.js'
import { type Duration, millis } from './duration.js'
import type { As } from './key-and-value-encodings.js'
import { KIND, lockKeyOf } from './lock-names-to-keys.js'
import {
  guardArg,
  show,
  toKey,
  toList,
  toMaybeValue,
  toRecord,
  toToken,
  toValue,
} from './common-argument-checks.js'
import { type KnownNames, knownNames, notOneOf, refuseUnknown } from './unknown-option-errors.js'
import {
  type Command,
  type ConditionArg,
  FIELD,
  IS,
  type KeyValueCommand,
  LIFE_OF_SESSION,
  OP,
  type PairArg,
  STEP,
  type Step,
} from './command-and-read-wire-types.js'

interface WithLife {
  readonly ttl?: unknown
  readonly ephemeral?: unknown
}

/**
 * Returns the ttl in ms, or LIFE_OF_SESSION for an ephemeral key, as a list of one element. The list is empty
 * if the key stays until a call deletes it. `of` comes before the option's name in error messages.
 */
function lifeArg(given: unknown, of: string): readonly [] | readonly [number] {
  const { ttl, ephemeral } = (given ?? {}) as WithLife
  if (ephemeral !== undefined && typeof ephemeral !== 'boolean')
    throw new TypeError(`${of}ephemeral must be true or false; got ${show(ephemeral)}`)
  if (ttl === undefined) return ephemeral === true ? [LIFE_OF_SESSION] : []
  if (ephemeral === true)
    throw new TypeError(`${of}ttl and ${of}ephemeral cannot be given together: a key has one life`)
  return [toLife(ttl, `${of}ttl`)]
}

const toLife = (ttl: unknown, name: string): number => Math.min(millis(ttl as Duration, name), CAPS.maxLife)
const saysLife = ({ ttl, ephemeral }: WithLife): boolean => ttl !== undefined || ephemeral !== undefined

/**
 * True if the command puts an ephemeral key. The cluster deletes this key when the session of the command
 * ends.
 */
export function bindsToSession(command: Command): boolean {
  switch (command[0]) {
    case OP.put:
      return command[4] === LIFE_OF_SESSION
    case OP.putAll:
      return command[2].some(([, , life]) => life === LIFE_OF_SESSION)
    case OP.batch:
      return command[2].some(bindsStep)
    case OP.txn:
      return command[3].some(bindsStep) || command[4].some(bindsStep)
    default:
      return false
  }
}

const bindsStep = (step: Step): boolean => step[0] === STEP.put && step[3] === LIFE_OF_SESSION

export const putArgs = (
  key: unknown,
  value: unknown,
  options: unknown,
  as: As = 'bytes',
): KeyValueCommand => [OP.put, guardArg(options), toKey(key), toValue(value, as), ...lifeArg(options, '')]
export const putIfAbsentArgs = keyAndValue(OP.putIfAbsent)
export const getAndPutArgs = keyAndValue(OP.getAndPut)
export const mergeArgs = (
  key: unknown,
  value: unknown,
  options: unknown,
  as: As = 'bytes',
): KeyValueCommand => [OP.merge, guardArg(options), toKey(key), toAppended(value, as)]

function keyAndValue(op: typeof OP.putIfAbsent | typeof OP.getAndPut) {
  return (key: unknown, value: unknown, options: unknown, as: As = 'bytes'): KeyValueCommand => [
    op,
    guardArg(options),
    toKey(key),
    toValue(value, as),
  ]
}

/** Refuses to append JSON or MessagePack. Two JSON texts with a comma between them are not a JSON text. */
function toAppended(value: unknown, as: As, name = 'value'): Uint8Array {
  if (as === 'bytes' || as === 'string') return toValue(value, as, name)
  throw new TypeError(
    `merge appends text or bytes, and the result would be no ${as}: pass { as: 'string' }, or write the whole value with compareAndPut`,
  )
}

export function putAllArgs(entries: unknown, options: unknown, as: As = 'bytes'): KeyValueCommand {
  if (!isIterable(entries))
    throw new TypeError(
      `entries must be an array of { key, value } or an iterable of [key, value]; got ${show(entries)}`,
    )
  const pairs: PairArg[] = []
  const life = lifeArg(options, '')
  for (const entry of entries) pairs.push(toPair(entry, as, `entries[${pairs.length}]`, life))
  return [OP.putAll, guardArg(options), pairs]
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value && !(value instanceof Uint8Array)

const ENTRY_FIELDS = knownNames('key', 'value', 'ttl', 'ephemeral')
const SWAP_FIELDS = knownNames('key', 'expect', 'update')

/** `life` is the ttl or the session for all entries of the call. An entry may have its own ttl or session. */
function toPair(entry: unknown, as: As, name: string, life: readonly [] | readonly [number]): PairArg {
  if (Array.isArray(entry))
    return [toKey(entry[0], `${name}[0]`), toValue(entry[1], as, `${name}[1]`), ...life]
  const given = toRecord(entry, name)
  refuseUnknown(given, ENTRY_FIELDS, 'field', name)
  const { key, value } = given
  const own = saysLife(given) ? lifeArg(given, `${name}.`) : life
  return [toKey(key, `${name}.key`), toValue(value, as, `${name}.value`), ...own]
}

export const compareAndPutArgs = (
  key: unknown,
  expect: unknown,
  update: unknown,
  options: unknown,
  as: As = 'bytes',
): KeyValueCommand => [
  OP.compareAndPutAll,
  guardArg(options),
  [[toKey(key), toMaybeValue(expect, as, 'expect'), toMaybeValue(update, as, 'update')]],
]

export function compareAndPutAllArgs(list: unknown, options: unknown, as: As = 'bytes'): KeyValueCommand {
  const items = toList(list, 'list').map((item, at) => {
    const given = toRecord(item, `list[${at}]`)
    refuseUnknown(given, SWAP_FIELDS, 'field', `list[${at}]`)
    const { key, expect, update } = given
    return [
      toKey(key, `list[${at}].key`),
      toMaybeValue(expect, as, `list[${at}].expect`),
      toMaybeValue(update, as, `list[${at}].update`),
    ] as const
  })
  return [OP.compareAndPutAll, guardArg(options), items]
}

export const deleteArgs = (key: unknown, options: unknown): KeyValueCommand => [
  OP.deleteAll,
  guardArg(options),
  [toKey(key)],
]
export const deleteAllArgs = (keys: unknown, options: unknown): KeyValueCommand => [
  OP.deleteAll,
  guardArg(options),
  toList(keys, 'keys').map((key, at) => toKey(key, `keys[${at}]`)),
]
export const deleteRangeArgs = (start: unknown, end: unknown, options: unknown): KeyValueCommand => [
  OP.deleteRange,
  guardArg(options),
  toKey(start, 'start'),
  toKey(end, 'end'),
]

export function nextSequenceArgs(key: unknown, step: unknown, options: unknown): KeyValueCommand {
  const name = toKey(key)
  if (!Number.isSafeInteger(step) || (step as number) <= 0)
    throw new TypeError(`step must be a positive safe integer; got ${show(step)}`)
  return [OP.nextSequence, guardArg(options), name, step as number]
}
export const resetSequenceArgs = (key: unknown, options: unknown): KeyValueCommand => [
  OP.resetSequence,
  guardArg(options),
  toKey(key),
]

export const incrementArgs = (key: unknown, by: unknown, options: unknown): KeyValueCommand => [
  OP.increment,
  guardArg(options),
  toKey(key),
  toInteger(by, 'by'),
]

export const touchArgs = (key: unknown, ttl: unknown, options: unknown): KeyValueCommand => [
  OP.touch,
  guardArg(options),
  toKey(key),
  toLife(ttl, 'ttl'),
]

/** Adding 0 converts -0 into 0. */
function toInteger(value: unknown, name: string): number {
  if (Number.isSafeInteger(value)) return (value as number) + 0
  throw new TypeError(`${name} must be a safe integer; got ${show(value)}`)
}

// ---- Batches and transactions

export const batchArgs = (ops: unknown, options: unknown, as: As = 'bytes'): KeyValueCommand => [
  OP.batch,
  guardArg(options),
  toSteps(ops, as, 'ops', false),
]

export function txnArgs(txn: unknown, options: unknown, as: As = 'bytes'): KeyValueCommand {
  const given = toRecord(txn, 'txn')
  refuseUnknown(given, TXN_FIELDS, 'field', 'txn')
  const when =
    given.when === undefined
      ? []
      : toList(given.when, 'when').map((condition, at) => toCondition(condition, as, at))
  const then = given.then === undefined ? [] : toSteps(given.then, as, 'then', true)
  const otherwise = given.else === undefined ? [] : toSteps(given.else, as, 'else', true)
  return [OP.txn, guardArg(options), when, then, otherwise]
}

const TXN_FIELDS = knownNames('when', 'then', 'else')
const KEY_AND_VALUE = knownNames('type', 'key', 'value')
const KEY_ALONE = knownNames('type', 'key')
const LOCK_FIELDS = knownNames('lock', 'token')
const CONDITION_FIELDS = knownNames('key', 'field', 'is', 'value', 'as')
/**
 * The fields of a step, by its type. This is a Map, because in an object a caller's type such as 'toString'
 * would find an inherited property.
 */
const STEP_FIELDS: ReadonlyMap<unknown, KnownNames> = new Map([
  ['put', knownNames('type', 'key', 'value', 'ttl', 'ephemeral')],
  ['merge', KEY_AND_VALUE],
  ['delete', KEY_ALONE],
  ['get', KEY_ALONE],
  ['deleteRange', knownNames('type', 'start', 'end')],
  ['increment', knownNames('type', 'key', 'by')],
])

const toSteps = (ops: unknown, as: As, name: string, reads: boolean): Step[] =>
  toList(ops, name).map((op, at) => toStep(toRecord(op, `${name}[${at}]`), as, `${name}[${at}]`, reads))

function toStep(op: Record<string, unknown>, as: As, name: string, reads: boolean): Step {
  const fields = STEP_FIELDS.get(op.type)
  if (fields !== undefined) refuseUnknown(op, fields, 'field', name)
  const key = () => toKey(op.key, `${name}.key`)
  switch (op.type) {
    case 'put':
      return [STEP.put, key(), toValue(op.value, as, `${name}.value`), ...lifeArg(op, `${name}.`)]
    case 'merge':
      return [STEP.merge, key(), toAppended(op.value, as, `${name}.value`)]
    case 'delete':
      return [STEP.delete, key()]
    case 'deleteRange':
      return [STEP.deleteRange, toKey(op.start, `${name}.start`), toKey(op.end, `${name}.end`)]
    case 'increment':
      return [STEP.increment, key(), op.by === undefined ? 1 : toInteger(op.by, `${name}.by`)]
    case 'get':
      if (reads) return [STEP.get, key()]
  }
  const known = ['put', 'merge', 'increment', 'delete', 'deleteRange', ...(reads ? ['get'] : [])]
  throw notOneOf(`${name}.type`, op.type, known)
}

function toCondition(given: unknown, as: As, at: number): ConditionArg {
  const name = `when[${at}]`
  const condition = toRecord(given, name)
  refuseUnknown(condition, condition.lock === undefined ? CONDITION_FIELDS : LOCK_FIELDS, 'field', name)
  if (condition.lock !== undefined) {
    const token = toToken(condition.token, `${name}.token`)
    return [FIELD.lock, IS['='], lockKeyOf(KIND.lock, toKey(condition.lock, `${name}.lock`)), token]
  }
  const key = toKey(condition.key, `${name}.key`)
  const field = oneOf(FIELDS, condition.field ?? 'value', `${name}.field`)
  const is = oneOf(COMPARISONS, condition.is ?? '=', `${name}.is`)
  if (condition.as !== undefined) return [FIELD.number, IS[is], key, toNumber(field, condition, name)]
  if (field !== 'value')
    return [FIELD[field], IS[is], key, toCompared(field, condition.value, `${name}.value`)]
  if ((is === '<' || is === '>') && (as === 'json' || as === 'msgpack')) throw unordered(name, as)
  return [FIELD[field], IS[is], key, toMaybeValue(condition.value, as, `${name}.value`)]
}

/**
 * Checks the value of a condition with `as: 'number'`. In other conditions the value undefined means an
 * absent key. With `as: 'number'` an absent key counts as 0, so undefined is refused.
 */
function toNumber(field: string, { as, value }: Record<string, unknown>, name: string): number {
  oneOf(['number'], as, `${name}.as`)
  if (field !== 'value') throw new TypeError(`${name}.as is for the value; ${field} is a number already`)
  return toInteger(value, `${name}.value`)
}

const FIELDS = ['value', 'version', 'createRevision', 'modRevision'] as const
const COMPARISONS = ['=', '!=', '<', '>'] as const

function oneOf<Word extends string>(words: readonly Word[], value: unknown, name: string): Word {
  if (words.includes(value as Word)) return value as Word
  throw notOneOf(name, value, words)
}

/**
 * The store compares bytes, and their order is not the order of the values: the JSON text 10 comes before 9.
 */
const unordered = (name: string, as: As) =>
  new TypeError(
    `${name}.is can be '=' or '!=' for a value of ${as}; numbers are compared with { as: 'number' }`,
  )

/** undefined means an absent key, whose revisions and version are 0. */
function toCompared(field: string, value: unknown, name: string) {
  if (value === undefined) return 0
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw new TypeError(`${name} must be a whole number, as ${field} is one; got ${show(value)}`)
}
