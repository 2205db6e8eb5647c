// Door: checks and converts the arguments of a user's call. A mistake is a TypeError that names the argument;
// too large a value is ERR_TOO_LARGE. Byte arrays are not copied here: code that keeps them beyond the call
// copies them (commands are encoded at once, reads are copied).

import { copyBytes } from '@latchkey/base'
import { CAPS } from './caps.js'
import { millis } from './duration.js'
import { LatchkeyError } from './errors.js'
import { type KnownNames, knownNames, refuseUnknown } from './known-names.js'
import type { GuardArg } from './operations.js'
import { show } from './show-value.js'
import type { As, Decoding, OnUndecodable } from './encodings.js'
import type { CallOptions, CloseOptions, Guard, ReadOptions } from './public-types.js'
import { encodeParsed } from './value-codec.js'

export { show } from './show-value.js'

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

/** A copy, for what is kept beyond the call. */
export const toKeyCopy = (value: unknown, name = 'key'): Uint8Array => copyBytes(toKey(value, name))

/** `as`: of the call. A value of `bytes` or `string` is text or bytes as it is. */
export function toValue(value: unknown, as: As, name = 'value'): Uint8Array {
  const bytes = as === 'bytes' || as === 'string' ? toBytes(value, name) : encodeParsed(value, as, name)
  if (bytes.length > CAPS.valueBytes) throw tooLarge(name, bytes.length, CAPS.valueBytes)
  return bytes
}

/** undefined: no value, which is null on the wire. */
export const toMaybeValue = (value: unknown, as: As, name: string): Uint8Array | null =>
  value === undefined ? null : toValue(value, as, name)

/** The start or end of a range: a key, or empty. */
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

// ---- options

export interface CallArgs {
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
const GUARD_FIELDS = knownNames('key', 'token')

/**
 * `call`: whose options they are. `standard` is the timeout where none is given: 5 s, or null for calls that wait without
 * limit.
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
  refuseUnknown(given, known, 'option', call)
  return {
    timeout: given.timeout === undefined ? (standard ?? undefined) : millis(given.timeout, 'timeout'),
    signal: toSignal(given.signal),
  }
}

const CLOSE_OPTIONS = knownNames('holds')

export function closeArgs(options: unknown): 'release' | 'keep' {
  if (options === undefined) return 'release'
  const given = toRecord(options, 'options') as CloseOptions
  refuseUnknown(given, CLOSE_OPTIONS, 'option', 'close')
  const { holds = 'release' } = given
  if (holds === 'release' || holds === 'keep') return holds
  throw new TypeError(`holds must be 'release' or 'keep'; got ${show(holds)}`)
}

export function toSignal(value: unknown, name = 'signal'): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value
  throw new TypeError(`${name} must be an AbortSignal; got ${show(value)}`)
}

/** `standard` is what the store says where the call does not. */
export function readArgs(
  call: string,
  options: unknown,
  standard: Decoding,
  known: KnownNames = READ_OPTIONS,
): ReadArgs {
  const { timeout, signal } = callArgs(call, options, DEFAULT_TIMEOUT, known)
  const { as, onUndecodable } = decodingArg(options, standard)
  const { consistency } = (options ?? {}) as ReadOptions
  if (consistency !== undefined && consistency !== 'linearizable' && consistency !== 'stale')
    throw new TypeError(`consistency must be 'linearizable' or 'stale'; got ${show(consistency)}`)
  return { timeout, signal, as, onUndecodable, stale: consistency === 'stale' }
}

/** How a call reads and writes values: what it does not say, `standard` says. */
export function decodingArg(options: unknown, standard: Decoding): Decoding {
  if (options === undefined || options === null) return standard
  const { as, onUndecodable } = options as { readonly as?: unknown; readonly onUndecodable?: unknown }
  if (as === undefined && onUndecodable === undefined) return standard
  return {
    as: toAs(as, standard.as),
    onUndecodable: toOnUndecodable(onUndecodable, standard.onUndecodable),
  }
}

export function toOnUndecodable(value: unknown, standard: OnUndecodable): OnUndecodable {
  if (value === undefined) return standard
  if (value === 'error' || value === 'bytes') return value
  throw new TypeError(`onUndecodable must be 'error' or 'bytes'; got ${show(value)}`)
}

export function toAs(value: unknown, standard: As): As {
  if (value === undefined) return standard
  if (value === 'bytes' || value === 'string' || value === 'json' || value === 'msgpack') return value
  throw new TypeError(`as must be 'bytes', 'string', 'json' or 'msgpack'; got ${show(value)}`)
}

export function guardArg(options: unknown): GuardArg {
  const guard = (options as { guard?: unknown } | undefined)?.guard
  if (guard === undefined) return null
  const given = toRecord(guard, 'guard')
  refuseUnknown(given, GUARD_FIELDS, 'field', 'guard')
  const { key, token } = given as unknown as Guard
  return [toKey(key, 'guard.key'), toToken(token, 'guard.token')]
}
