// Door: checks and converts arguments that several calls have. A wrong argument gives a TypeError that names
// the argument. A value that is too large gives ERR_TOO_LARGE. Only toKeyCopy copies byte arrays.

import { copyBytes } from '@latchkey/base'
import { CAPS } from './fixed-limits.js'
import { millis } from './duration.js'
import { LatchkeyError } from './errors.js'
import { type KnownNames, knownNames, notOneOf, refuseUnknown } from './unknown-option-errors.js'
import { KIND, lockKeyOf } from './lock-names-to-keys.js'
import type { GuardArg } from './command-and-read-wire-types.js'
import { show } from './value-in-errors.js'
import type { As, Decoding, OnUndecodable } from './key-and-value-encodings.js'
import type { CloseOptions } from './status-and-admin-types.js'
import type { CallOptions, Guard, ReadOptions } from './key-value-calls-and-options.js'
import { encodeParsed } from './value-codec.js'

export { show } from './value-in-errors.js'

export const tooLarge = (name: string, bytes: number, most: number) =>
  new LatchkeyError(
    'ERR_TOO_LARGE',
    `${name} has ${bytes} bytes; at most ${most} are allowed. Split it, or store it elsewhere and keep a reference here.`,
  )

export function toBytes(value: unknown, name: string): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value, 'utf8')
  if (value instanceof Uint8Array) return value
  throw new TypeError(`${name} must be a string or a Uint8Array; got ${show(value)}`)
}

export function toKey(value: unknown, name = 'key'): Uint8Array {
  const bytes = toBytes(value, name)
  if (bytes.length === 0) throw new TypeError(`${name} must not be empty: a key has 1 byte to 4 KiB`)
  if (bytes.length > CAPS.keyBytes) throw tooLarge(name, bytes.length, CAPS.keyBytes)
  return bytes
}

/**
 * The copy has its own memory. A Buffer of a text may be a part of Node's pool, and a lock that keeps its key for
 * long would keep 8 KiB of the pool too.
 */
export const toKeyCopy = (value: unknown, name = 'key'): Uint8Array => copyBytes(toKey(value, name))

/** If `as` is 'bytes' or 'string', the value must be text or bytes. */
export function toValue(value: unknown, as: As, name = 'value'): Uint8Array {
  const bytes = as === 'bytes' || as === 'string' ? toBytes(value, name) : encodeParsed(value, as, name)
  if (bytes.length > CAPS.valueBytes) throw tooLarge(name, bytes.length, CAPS.valueBytes)
  return bytes
}

export const toMaybeValue = (value: unknown, as: As, name: string): Uint8Array | null =>
  value === undefined ? null : toValue(value, as, name)

/** The start or the end of a range may be empty. A key may not be empty. */
export function toBound(value: unknown, name: string): Uint8Array {
  const bytes = toBytes(value, name)
  if (bytes.length > CAPS.keyBytes) throw tooLarge(name, bytes.length, CAPS.keyBytes)
  return bytes
}

export function toToken(value: unknown, name: string): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number
  throw new TypeError(`${name} must be a fencing token, a positive safe integer; got ${show(value)}`)
}

export function toList(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new TypeError(`${name} must be an array; got ${show(value)}`)
}

export function toRecord(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new TypeError(`${name} must be an object; got ${show(value)}`)
}

// ---- Options

interface CallArgs {
  readonly timeout: number | undefined
  readonly signal: AbortSignal | undefined
}
export interface ReadArgs extends CallArgs, Decoding {
  readonly stale: boolean
}

export const DEFAULT_TIMEOUT = 5_000
const DEFAULTS: CallArgs = { timeout: DEFAULT_TIMEOUT, signal: undefined }
const NO_LIMIT: CallArgs = { timeout: undefined, signal: undefined }

export const CALL_OPTIONS = knownNames('timeout', 'signal')
export const WRITE_OPTIONS = knownNames('timeout', 'signal', 'guard', 'as', 'onUndecodable')
export const PUT_OPTIONS = knownNames('timeout', 'signal', 'guard', 'as', 'onUndecodable', 'ttl', 'ephemeral')
const READ_OPTIONS = knownNames('timeout', 'signal', 'as', 'onUndecodable', 'consistency')
const GUARD_FIELDS = knownNames('key', 'token', 'shared')

/**
 * `call` names the call in error messages. `standard` is the default timeout in ms, or null for a call that
 * waits without limit.
 */
export function callArgs(
  call: string,
  options: unknown,
  standard: number | null = DEFAULT_TIMEOUT,
  known: KnownNames = CALL_OPTIONS,
): CallArgs {
  if (options === undefined) {
    if (standard === DEFAULT_TIMEOUT) return DEFAULTS
    return standard === null ? NO_LIMIT : { timeout: standard, signal: undefined }
  }
  const given = toRecord(options, 'options') as CallOptions
  if (known === WRITE_OPTIONS) refuseLife(given, call)
  refuseUnknown(given, known, 'option', call)
  return {
    timeout: given.timeout === undefined ? (standard ?? undefined) : millis(given.timeout, 'timeout'),
    signal: toSignal(given.signal),
  }
}

/** Refuses `ttl` and `ephemeral` with a message that names the calls with these options. */
function refuseLife(given: object, call: string): void {
  const name = ['ttl', 'ephemeral'].find((one) => Object.hasOwn(given, one))
  if (name === undefined) return
  throw new TypeError(
    `unknown option "${name}" of ${call}: a key gets a life by put, putAll, and the puts of a batch or a txn`,
  )
}

const CLOSE_OPTIONS = knownNames('holds')

export function closeArgs(options: unknown): 'release' | 'keep' {
  if (options === undefined) return 'release'
  const given = toRecord(options, 'options') as CloseOptions
  refuseUnknown(given, CLOSE_OPTIONS, 'option', 'close')
  const { holds = 'release' } = given
  if (holds === 'release' || holds === 'keep') return holds
  throw notOneOf('holds', holds, ['release', 'keep'])
}

export function toSignal(value: unknown, name = 'signal'): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value
  throw new TypeError(`${name} must be an AbortSignal; got ${show(value)}`)
}

export function readArgs(
  call: string,
  options: unknown,
  standard: Decoding,
  known: KnownNames = READ_OPTIONS,
): ReadArgs {
  const { timeout, signal } = callArgs(call, options, DEFAULT_TIMEOUT, known)
  const { as, onUndecodable, prefix } = decodingArg(options, standard)
  const { consistency } = (options ?? {}) as ReadOptions
  if (consistency !== undefined && consistency !== 'linearizable' && consistency !== 'stale')
    throw notOneOf('consistency', consistency, ['linearizable', 'stale'])
  return { timeout, signal, as, onUndecodable, prefix, stale: consistency === 'stale' }
}

export function decodingArg(options: unknown, standard: Decoding): Decoding {
  if (options === undefined || options === null) return standard
  const { as, onUndecodable } = options as { readonly as?: unknown; readonly onUndecodable?: unknown }
  if (as === undefined && onUndecodable === undefined) return standard
  return {
    as: toAs(as, standard.as),
    onUndecodable: toOnUndecodable(onUndecodable, standard.onUndecodable),
    prefix: standard.prefix,
  }
}

const SUB_OPTIONS = knownNames('as', 'onUndecodable')

export function subOptionsArg(options: unknown, standard: Decoding): Decoding {
  if (options !== undefined) refuseUnknown(toRecord(options, 'options'), SUB_OPTIONS, 'option', 'sub')
  return decodingArg(options, standard)
}

export function toOnUndecodable(value: unknown, standard: OnUndecodable): OnUndecodable {
  if (value === undefined) return standard
  if (value === 'error' || value === 'bytes') return value
  throw notOneOf('onUndecodable', value, ['error', 'bytes'])
}

export function toAs(value: unknown, standard: As): As {
  if (value === undefined) return standard
  if (value === 'bytes' || value === 'string' || value === 'json' || value === 'msgpack') return value
  throw notOneOf('as', value, ['bytes', 'string', 'json', 'msgpack'])
}

export function guardArg(options: unknown): GuardArg {
  const guard = (options as { guard?: unknown } | undefined)?.guard
  if (guard === undefined) return null
  const given = toRecord(guard, 'guard')
  refuseUnknown(given, GUARD_FIELDS, 'field', 'guard')
  const { key, token, shared } = given as unknown as Guard
  const arg = [lockKeyOf(KIND.lock, toKey(key, 'guard.key')), toToken(token, 'guard.token')] as const
  if (shared === undefined || shared === false) return arg
  if (shared !== true) throw new TypeError(`guard.shared must be true or false; got ${show(shared)}`)
  return [...arg, true]
}
