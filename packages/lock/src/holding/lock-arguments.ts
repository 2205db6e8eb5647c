// Door: checks the arguments of lock calls. A mistake is a TypeError, too many bytes are ERR_TOO_LARGE;
// nothing was sent then.
// All bytes are copied, so that the caller may reuse its own buffers.

import { copyBytes, prefixEnd, utf8 } from '@latchkey/base'
import {
  type Acquirer,
  type Bytes,
  CAPS,
  type ContextArg,
  type Duration,
  type KnownNames,
  LatchkeyError,
  millis,
  knownNames,
  refuseUnknown,
  toRecord,
} from '@latchkey/protocol'

export function keyArg(key: unknown, name = 'key'): Uint8Array {
  const bytes = bytesArg(key, name)
  if (bytes.length === 0) throw new TypeError(`${name} must not be empty`)
  if (bytes.length <= CAPS.keyBytes) return bytes
  throw tooLarge(name, bytes.length, CAPS.keyBytes)
}

/** Returns null for an empty prefix, which means all keys. */
export function prefixArg(prefix: unknown): Uint8Array | null {
  const bytes = bytesArg(prefix, 'prefix')
  if (bytes.length <= CAPS.keyBytes) return bytes.length === 0 ? null : bytes
  throw tooLarge('prefix', bytes.length, CAPS.keyBytes)
}

const SPAN_FIELDS = knownNames('prefix')

/** Checks what to watch: one lock by its key, or all locks whose keys begin with a prefix. */
export function lockSpan(target: unknown): {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
} {
  if (typeof target === 'string' || target instanceof Uint8Array) {
    const start = keyArg(target)
    return { start, end: Buffer.concat([start, Uint8Array.of(0)]) }
  }
  const given = toRecord(target, 'target')
  refuseUnknown(given, SPAN_FIELDS, 'field', 'target')
  const start = prefixArg(given.prefix)
  return { start, end: start === null ? null : (prefixEnd(start) ?? null) }
}

/** undefined and null: the store's counter. */
export function fencingKeyArg(key: unknown): Uint8Array | null {
  return key === undefined || key === null ? null : keyArg(key, 'fencingKey')
}

export function leaseArg(lease: unknown, name = 'lease'): number {
  const ms = millis(lease as Duration, name)
  if (ms >= CAPS.minLease && ms <= CAPS.maxLease) return ms
  throw new TypeError(`${name} must be from 50 ms to 30 days; got ${ms} ms`)
}

export function durationArg(value: unknown, name: string): number | undefined {
  return value === undefined ? undefined : millis(value as Duration, name)
}

/** Returns null if the caller gave no context. An empty context is a context. */
export function contextArg(context: unknown): ContextArg {
  if (context === undefined || context === null) return null
  const size = bytesArg(context, 'context').length
  if (size > CAPS.contextBytes) throw tooLarge('context', size, CAPS.contextBytes)
  return typeof context === 'string' ? context : copyBytes(context as Uint8Array)
}

export function signalArg(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw new TypeError('signal must be an AbortSignal')
}

/** Checks a token that must be present. */
export function tokenArg(token: unknown, name = 'token'): number {
  if (typeof token === 'number' && Number.isSafeInteger(token) && token > 0) return token
  throw new TypeError(`${name} must be a positive safe integer; got ${String(token)}`)
}

export interface AcquirerArgs {
  readonly id: string
  readonly lease: number
  /** The fencing token; 0: the caller gave none. */
  readonly token: number
  readonly context: ContextArg
}

export function acquirerArg(acquirer: Acquirer): AcquirerArgs {
  if (typeof acquirer !== 'object' || acquirer === null) throw new TypeError('acquirer must be an object')
  const { fencingToken } = acquirer
  const none = fencingToken === undefined || fencingToken === null || fencingToken === 0
  return {
    id: idArg(acquirer.id),
    lease: leaseArg(acquirer.lease, 'acquirer.lease'),
    token: none ? 0 : tokenArg(fencingToken, 'acquirer.fencingToken'),
    context: contextArg(acquirer.context),
  }
}

const NONE: Readonly<Partial<Record<string, never>>> = {}

/** Returns the options of `call`, after checking that all their names are in `known`. */
export function optionsArg<T extends object>(
  call: string,
  options: T | undefined,
  known: KnownNames,
): Partial<T> {
  if (options === undefined) return NONE as Partial<T>
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError('options must be an object')
  refuseUnknown(options, known, 'option', call)
  return options
}

function idArg(id: unknown): string {
  if (typeof id !== 'string' || id === '')
    throw new TypeError('acquirer.id must be a string that is not empty')
  if (utf8(id).length > CAPS.keyBytes) throw tooLarge('acquirer.id', utf8(id).length, CAPS.keyBytes)
  return id
}

function bytesArg(value: unknown, name: string): Uint8Array {
  if (typeof value === 'string') return utf8(value)
  if (value instanceof Uint8Array) return copyBytes(value)
  throw new TypeError(`${name} must be a string or a Uint8Array`)
}

function tooLarge(name: string, size: number, cap: number): LatchkeyError {
  return new LatchkeyError('ERR_TOO_LARGE', `${name} has ${size} bytes; at most ${cap} are allowed.`)
}

export type LockKey = Bytes
