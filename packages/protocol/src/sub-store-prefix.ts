// Door: adds the prefix of a `sub` to keys. A sub is a part of a store, and all its keys begin with one
// prefix. toUserKey removes the prefix from the keys in answers. The whole store has the empty prefix.
//
// Laws
//   SV1  No call of a sub reads or changes a key or a lock outside its prefix. Without this law: a service
//        clears its own part of the store with a deleteRange without an upper bound. The part of another
//        service is gone too.
//   SV2  A caller of a sub never sees the prefix: not in results, not in events and not in errors.
//
// The constructor of a new kind of named object must take the prefix. In packages/lock, the prefix is a part
// of LockServices. Elsewhere, the prefix is a part of a Decoding. Each name from a caller must go through
// `keyArg(prefix, name)` of packages/lock, or through `keyBelow(prefix, key)`. Each returned name must go
// through `toUserKey(key, decoding)`.

import { copyBytes, prefixEnd } from '@latchkey/base'
import { CAPS } from './fixed-limits.js'
import { subOptionsArg, toKey } from './common-argument-checks.js'
import type { Decoding } from './key-and-value-encodings.js'
import { LatchkeyError } from './errors.js'
import { kindOfLockKey, lockKeyOf, nameOfLockKey } from './lock-names-to-keys.js'
import {
  type ConditionArg,
  FIELD,
  type GuardArg,
  guardsOf,
  type OneGuardArg,
  type KeyRead,
  type KeyValueCommand,
  OP,
  READ,
  STEP,
  type Step,
} from './command-and-read-wire-types.js'
import type { Bounds } from './read-and-watch-argument-checks.js'

type Key = Uint8Array

/** `above` has the prefix and the encoding of the store or sub from which the sub is made. */
export function subArgs(prefix: unknown, options: unknown, above: Decoding): Decoding {
  const below = copyBytes(toKey(prefix, 'prefix'))
  const decoding = subOptionsArg(options, above)
  const whole = Buffer.concat([above.prefix, below])
  if (whole.length < CAPS.keyBytes) return { ...decoding, prefix: whole }
  throw new LatchkeyError(
    'ERR_TOO_LARGE',
    `The prefix has ${whole.length} bytes in all; at most ${CAPS.keyBytes - 1} are allowed, since a key has ${CAPS.keyBytes} bytes with its prefix. Take a shorter one.`,
  )
}

/** The limit of a key's length includes the prefix, because members store the key with its prefix. */
export function keyBelow(prefix: Uint8Array, key: Key, name = 'key', most: number = CAPS.keyBytes): Key {
  if (prefix.length === 0) return key
  const length = prefix.length + key.length
  if (length > most)
    throw new LatchkeyError(
      'ERR_TOO_LARGE',
      `${name} has ${length} bytes with the ${prefix.length} of the prefix of this sub; at most ${most} are allowed for both together. Take a shorter one.`,
    )
  const whole = new Uint8Array(length)
  whole.set(prefix)
  whole.set(key, prefix.length)
  return whole
}

/** The prefix comes after the bytes for the kind of lock, and before the name. */
const lockBelow = (prefix: Uint8Array, key: Key): Key =>
  lockKeyOf(kindOfLockKey(key), keyBelow(prefix, nameOfLockKey(key), "the lock's key"))

/** A range without an end gets the end of the sub's keys as its end, and not the end of the store (SV1). */
export function boundsBelow<B extends Bounds>(prefix: Uint8Array, bounds: B): B {
  if (prefix.length === 0) return bounds
  const { start, end } = bounds
  return {
    ...bounds,
    start: start === null ? prefix : boundBelow(prefix, start),
    end: end === null ? (prefixEnd(prefix) ?? null) : boundBelow(prefix, end),
  }
}

/**
 * A range that begins after a key starts at this key with a zero byte appended. So the start of a range may
 * be one byte longer than the longest key.
 */
const boundBelow = (prefix: Uint8Array, bound: Key): Key =>
  keyBelow(prefix, bound, 'a bound of the range', CAPS.keyBytes + 1)

export function readBelow(prefix: Uint8Array, read: KeyRead): KeyRead {
  if (prefix.length === 0) return read
  if (read[0] !== READ.multiGet) return [read[0], keyBelow(prefix, read[1])]
  return [READ.multiGet, read[1].map((key, at) => keyBelow(prefix, key, `keys[${at}]`))]
}

export function commandBelow(prefix: Uint8Array, command: KeyValueCommand): KeyValueCommand {
  if (prefix.length === 0) return command
  const guard = guardBelow(prefix, command[1])
  const below = (key: Key, name?: string) => keyBelow(prefix, key, name)
  switch (command[0]) {
    case OP.put: {
      const [op, , key, ...rest] = command
      return [op, guard, below(key), ...rest]
    }
    case OP.putIfAbsent:
    case OP.getAndPut:
    case OP.merge:
      return [command[0], guard, below(command[2]), command[3]]
    case OP.nextSequence:
    case OP.increment:
    case OP.touch:
      return [command[0], guard, below(command[2]), command[3]]
    case OP.resetSequence:
      return [command[0], guard, below(command[2])]
    case OP.putAll:
      return [command[0], guard, command[2].map(([key, ...rest]) => [below(key), ...rest] as const)]
    case OP.compareAndPutAll:
      return [command[0], guard, command[2].map(([key, ...rest]) => [below(key), ...rest] as const)]
    case OP.deleteAll:
      return [command[0], guard, command[2].map((key) => below(key))]
    case OP.deleteRange:
      return [command[0], guard, below(command[2], 'start'), below(command[3], 'end')]
    case OP.batch:
      return [command[0], guard, stepsBelow(prefix, command[2])]
    case OP.txn: {
      const [op, , when, then, otherwise, once] = command
      const conditions = when.map((condition) => conditionBelow(prefix, condition))
      const all = [op, guard, conditions, stepsBelow(prefix, then), stepsBelow(prefix, otherwise)] as const
      return once === undefined ? all : [...all, [below(once[0]), once[1], once[2]]]
    }
  }
}

function guardBelow(prefix: Uint8Array, guard: GuardArg): GuardArg {
  if (guard === null) return null
  const below = guardsOf(guard).map(([key, ...rest]): OneGuardArg => [lockBelow(prefix, key), ...rest])
  return Array.isArray(guard[0]) ? below : (below[0] ?? null)
}

function conditionBelow(prefix: Uint8Array, [field, is, key, value]: ConditionArg): ConditionArg {
  return [field, is, field === FIELD.lock ? lockBelow(prefix, key) : keyBelow(prefix, key), value]
}

const stepsBelow = (prefix: Uint8Array, steps: readonly Step[]): Step[] =>
  steps.map((step) => stepBelow(prefix, step))

function stepBelow(prefix: Uint8Array, step: Step): Step {
  switch (step[0]) {
    case STEP.put: {
      const [kind, key, ...rest] = step
      return [kind, keyBelow(prefix, key), ...rest]
    }
    case STEP.merge:
      return [step[0], keyBelow(prefix, step[1]), step[2]]
    case STEP.deleteRange:
      return [step[0], keyBelow(prefix, step[1], 'start'), keyBelow(prefix, step[2], 'end')]
    case STEP.increment:
      return [step[0], keyBelow(prefix, step[1]), step[2]]
    case STEP.delete:
    case STEP.get:
      return [step[0], keyBelow(prefix, step[1])]
  }
}
