// Door: checks the arguments of lock calls. A wrong argument is a TypeError, and too many bytes are
// ERR_TOO_LARGE. A call with one of these errors sends no request. All bytes are copied, so that the caller
// may reuse its own buffers.

import { EMPTY, copyBytes, keyAfter, prefixEnd, utf8 } from '@latchkey/base'
import {
  type Acquirer,
  CAPS,
  type ContextArg,
  type Duration,
  type HoldKind,
  KIND,
  type Kind,
  type KnownNames,
  keyBelow,
  lockKeyOf,
  millis,
  knownNames,
  notOneOf,
  refuseUnknown,
  type ShareArg,
  show,
  toBound,
  toBytes,
  toKeyCopy,
  tooLarge,
  toRecord,
  toToken,
} from '@latchkey/protocol'

/** Returns the whole key. `above` is the prefix of `store.sub(prefix)`, and is empty in the store itself. */
export const keyArg = (above: Uint8Array, key: unknown, name = 'key'): Uint8Array =>
  keyBelow(above, toKeyCopy(key, name), name)

export const lockKeyArg = (above: Uint8Array, key: unknown): Uint8Array =>
  lockKeyOf(KIND.lock, keyArg(above, key))

/**
 * Returns the first bytes of all lock keys of that kind whose names begin with `prefix`. null means all
 * locks. `above` is the prefix of `store.sub(prefix)`, and is empty in the store itself.
 */
export function prefixArg(above: Uint8Array, prefix: unknown, kind: Kind = KIND.lock): Uint8Array | null {
  const bytes = prefix === undefined ? EMPTY : copyBytes(toBound(prefix, 'prefix'))
  const whole = keyBelow(above, bytes, 'prefix')
  return whole.length === 0 && kind === KIND.lock ? null : lockKeyOf(kind, whole)
}

const HOLD_KINDS: readonly HoldKind[] = ['lock', 'semaphore', 'election', 'webLock']

export const kindsArg = (kind: unknown): readonly HoldKind[] =>
  kind === 'all' ? HOLD_KINDS : [holdKindArg(kind, ['all'])]

export function holdKindArg(kind: unknown, more: readonly string[] = []): HoldKind {
  const known = HOLD_KINDS.find((one) => one === kind)
  if (known === undefined) throw notOneOf('kind', kind, [...HOLD_KINDS, ...more])
  return known
}

export function modeArg(mode: unknown): ShareArg | undefined {
  if (mode === undefined || mode === 'exclusive') return undefined
  if (mode === 'shared') return SHARED
  throw notOneOf('mode', mode, ['exclusive', 'shared'])
}
const SHARED: ShareArg = [1, 0]

export function permitsArg(permits: unknown, name: string): number {
  const isCount = typeof permits === 'number' && Number.isSafeInteger(permits)
  if (isCount && permits >= 1 && permits <= CAPS.permits) return permits
  throw new TypeError(`${name} must be a whole number from 1 to ${CAPS.permits}; got ${show(permits)}`)
}

const SPAN_FIELDS = knownNames('prefix')
/** A key after the keys of all locks and before the keys of other kinds. */
const END_OF_LOCKS = lockKeyOf(KIND.semaphore, new Uint8Array(0))

/** Checks what to watch: one lock by its key, or all locks whose keys begin with a prefix. */
export function lockSpan(
  above: Uint8Array,
  target: unknown,
): {
  readonly start: Uint8Array | null
  readonly end: Uint8Array | null
} {
  if (typeof target === 'string' || target instanceof Uint8Array) {
    const start = lockKeyArg(above, target)
    return { start, end: keyAfter(start) }
  }
  const given = toRecord(target, 'target')
  refuseUnknown(given, SPAN_FIELDS, 'field', 'target')
  const start = prefixArg(above, given.prefix)
  return { start, end: start === null ? END_OF_LOCKS : (prefixEnd(start) ?? null) }
}

export function fencingKeyArg(above: Uint8Array, key: unknown): Uint8Array | null {
  return key === undefined || key === null ? null : keyArg(above, key, 'fencingKey')
}

export function leaseArg(lease: unknown, name = 'lease'): number {
  const ms = millis(lease as Duration, name)
  if (ms >= CAPS.minLease && ms <= CAPS.maxLease) return ms
  throw new TypeError(`${name} must be from 50 ms to 30 days; got ${ms} ms`)
}

export function durationArg(value: unknown, name: string): number | undefined {
  return value === undefined ? undefined : millis(value as Duration, name)
}

/** An empty string and an empty array are valid contexts. The result null means that there is no context. */
export function contextArg(context: unknown): ContextArg {
  if (context === undefined || context === null) return null
  const size = toBytes(context, 'context').length
  if (size > CAPS.contextBytes) throw tooLarge('context', size, CAPS.contextBytes)
  return typeof context === 'string' ? context : copyBytes(context as Uint8Array)
}

interface AcquirerArgs {
  readonly id: string
  readonly lease: number
  readonly token: number
  readonly context: ContextArg
}

const ACQUIRER_FIELDS = knownNames('id', 'lease', 'fencingToken', 'context')

export function acquirerArg(acquirer: Acquirer): AcquirerArgs {
  if (typeof acquirer !== 'object' || acquirer === null) throw new TypeError('acquirer must be an object')
  refuseUnknown(acquirer, ACQUIRER_FIELDS, 'field', 'acquirer')
  const { fencingToken } = acquirer
  const none = fencingToken === undefined || fencingToken === null || fencingToken === 0
  return {
    id: idArg(acquirer.id),
    lease: leaseArg(acquirer.lease, 'acquirer.lease'),
    token: none ? 0 : toToken(fencingToken, 'acquirer.fencingToken'),
    context: contextArg(acquirer.context),
  }
}

const NONE: Readonly<Partial<Record<string, never>>> = {}

export function optionsArg<T extends object>(
  call: string,
  options: T | undefined,
  known: KnownNames,
): Partial<T> {
  if (options === undefined) return NONE as Partial<T>
  refuseUnknown(toRecord(options, 'options'), known, 'option', call)
  return options
}

function idArg(id: unknown): string {
  if (typeof id !== 'string' || id === '')
    throw new TypeError('acquirer.id must be a string that is not empty')
  if (utf8(id).length > CAPS.keyBytes) throw tooLarge('acquirer.id', utf8(id).length, CAPS.keyBytes)
  return id
}
