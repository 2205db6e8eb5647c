// Door: is this value a Command? Null or the reason; one rule a line. Asked before a command enters the log, so that its caller
// learns the reason, and again after it, so that a bad one changes nothing. Pure: the same answer on every member.

import { CAPS, type Command, type ErrorCode, FIELD, IS, OP, type Op, STEP } from '@latchkey/protocol'

export interface Refusal {
  readonly code: ErrorCode
  readonly reason: string
}

const bad = (reason: string): Refusal => ({ code: 'ERR_PROTOCOL', reason })
const large = (reason: string): Refusal => ({ code: 'ERR_TOO_LARGE', reason })

const OPS: ReadonlySet<unknown> = new Set(Object.values(OP))
const MAX_SESSION_LIFE = CAPS.maxLease
const MAX_ID_LENGTH = 256

/** Does this build know the operation? One that is well formed and unknown stops the member: it must not be skipped. */
export const isKnownOp = (op: unknown): op is Op => OPS.has(op)

/** Every list in a command is bounded by the command's bytes; `bytes` is the length of its packed form. */
export function refuseCommand(command: unknown, bytes: number): Refusal | null {
  if (bytes > CAPS.commandBytes) return large(`a command of ${bytes} bytes, the most is ${CAPS.commandBytes}`)
  if (!Array.isArray(command)) return bad('a command is an array')
  if (!isKnownOp(command[0])) return bad(`unknown operation ${String(command[0])}`)
  const rule = RULES[command[0]]
  if (command.length !== rule.length + 1) return bad(`operation ${command[0]} has ${rule.length} arguments`)
  for (let i = 0; i < rule.length; i++) {
    const refusal = (rule[i] as Check)(command[i + 1])
    if (refusal !== null) return refusal
  }
  return null
}

/** For a caller's side: throws nothing, narrows. */
export const isCommand = (command: unknown, bytes: number): command is Command =>
  refuseCommand(command, bytes) === null

type Check = (value: unknown) => Refusal | null

const safeInteger = (value: unknown): value is number => Number.isSafeInteger(value)

const key: Check = (value) => {
  if (!(value instanceof Uint8Array) || value.length === 0) return bad('a key is 1 byte or more')
  return value.length > CAPS.keyBytes
    ? large(`a key of ${value.length} bytes, the most is ${CAPS.keyBytes}`)
    : null
}
/** The end of a range: a key, or one byte more (the key behind the longest one). */
const edge: Check = (value) => {
  if (!(value instanceof Uint8Array)) return bad('an end of a range is bytes')
  return value.length > CAPS.keyBytes + 1 ? large(`an end of a range of ${value.length} bytes`) : null
}
const data: Check = (value) => {
  if (!(value instanceof Uint8Array)) return bad('a value is bytes')
  return value.length > CAPS.valueBytes
    ? large(`a value of ${value.length} bytes, the most is ${CAPS.valueBytes}`)
    : null
}
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value)
const flag: Check = (value) => (typeof value === 'boolean' ? null : bad('true or false'))
const positive: Check = (value) => (safeInteger(value) && value > 0 ? null : bad('a positive safe integer'))
const natural: Check = (value) => (safeInteger(value) && value >= 0 ? null : bad('a safe integer from 0'))
const life: Check = (value) =>
  safeInteger(value) && value >= CAPS.minLease && value <= MAX_SESSION_LIFE
    ? null
    : bad('a life out of bounds')
const lease: Check = (value) =>
  safeInteger(value) && value >= CAPS.minLease && value <= CAPS.maxLease ? null : bad('a lease out of bounds')
const wait: Check = (value) => (value === null ? null : natural(value))
const id: Check = (value) =>
  typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_LENGTH
    ? null
    : bad('an id of 1 to 256 characters')
const context: Check = (value) => {
  if (value === null) return null
  const bytes =
    typeof value === 'string' ? Buffer.byteLength(value) : value instanceof Uint8Array ? value.length : -1
  if (bytes < 0) return bad('a context is text or bytes')
  return bytes > CAPS.contextBytes
    ? large(`a context of ${bytes} bytes, the most is ${CAPS.contextBytes}`)
    : null
}
const guard: Check = (value) => (value === null ? null : tuple(key, positive)(value))

const tuple =
  (...checks: readonly Check[]): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length !== checks.length) return bad(`a list of ${checks.length}`)
    for (let i = 0; i < checks.length; i++) {
      const refusal = (checks[i] as Check)(value[i])
      if (refusal !== null) return refusal
    }
    return null
  }
const listOf =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return bad('a list')
    for (const item of value) {
      const refusal = check(item)
      if (refusal !== null) return refusal
    }
    return null
  }

const STEPS: Readonly<Record<number, Check>> = {
  [STEP.put]: tuple(natural, key, data),
  [STEP.merge]: tuple(natural, key, data),
  [STEP.delete]: tuple(natural, key),
  [STEP.deleteRange]: tuple(natural, edge, edge),
  [STEP.get]: tuple(natural, key),
}
const stepOf =
  (withGet: boolean): Check =>
  (value) => {
    const kind = Array.isArray(value) ? (value[0] as unknown) : undefined
    const check = typeof kind === 'number' ? STEPS[kind] : undefined
    if (check === undefined || (kind === STEP.get && !withGet)) return bad('no such step')
    return check(value)
  }

/** null: that of an absent key, 0. */
const conditionNumber: Check = (value) => (value === null ? null : natural(value))
const condition: Check = (value) => {
  if (!Array.isArray(value) || value.length !== 4) return bad('a condition is a list of 4')
  const [field, is, target, operand] = value as unknown[]
  if (!(safeInteger(field) && field >= FIELD.value && field <= FIELD.lock)) return bad('no such field')
  if (!(safeInteger(is) && is >= IS['='] && is <= IS['>'])) return bad('no such comparison')
  if (field === FIELD.lock)
    return is === IS['='] ? (key(target) ?? positive(operand)) : bad('a lock is held or not')
  return key(target) ?? (field === FIELD.value ? orNull(data)(operand) : conditionNumber(operand))
}

/** The arguments of each operation, in their places. */
const RULES: Readonly<Record<Op, readonly Check[]>> = {
  [OP.openSession]: [life],
  [OP.keepAlive]: [],
  [OP.closeSession]: [],
  [OP.cancelCall]: [positive],
  [OP.put]: [guard, key, data],
  [OP.putAll]: [guard, listOf(tuple(key, data))],
  [OP.putIfAbsent]: [guard, key, data],
  [OP.getAndPut]: [guard, key, data],
  [OP.compareAndPutAll]: [guard, listOf(tuple(key, orNull(data), orNull(data)))],
  [OP.merge]: [guard, key, data],
  [OP.deleteAll]: [guard, listOf(key)],
  [OP.deleteRange]: [guard, edge, edge],
  [OP.batch]: [guard, listOf(stepOf(false))],
  [OP.txn]: [guard, listOf(condition), listOf(stepOf(true)), listOf(stepOf(true))],
  [OP.nextSequence]: [guard, key, positive],
  [OP.resetSequence]: [guard, key],
  [OP.tryLock]: [key, orNull(key), flag, id, lease, natural, context, wait],
  [OP.release]: [key, id, natural, flag],
  [OP.renew]: [listOf(tuple(key, id, natural, lease))],
  [OP.cancelWait]: [key, id],
  [OP.forceRelease]: [key, positive],
}
