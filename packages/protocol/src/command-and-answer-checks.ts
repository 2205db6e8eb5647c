// Door: checks whether a value is a Command, a Read or an Answer. A check returns null, or the reason of a
// refusal. Code after this file does not check the form of these values again.
// long: one table of all commands and reads is easier to check than several

import { binary } from '@latchkey/base'
import { CAPS } from './fixed-limits.js'
import { KIND, KIND_BYTES, kindOfLockKey, wrongLockKey } from './lock-names-to-keys.js'
import {
  type Command,
  FIELD,
  IS,
  isInnerCommand,
  type FlowArg,
  type KeyModeArg,
  LIFE_OF_SESSION,
  OP,
  READ,
  STEP,
} from './command-and-read-wire-types.js'
import { LOCK_EVENT, OWNER_CODES } from './result-wire-types.js'
import { PARTY_OF, PARTY_STATES } from './latch-and-barrier-operations.js'

export type Check = (value: unknown) => string | null

const bytes =
  (least: number, most: number, what: string): Check =>
  (value) => {
    if (!(value instanceof Uint8Array)) return `${what} must be bytes`
    if (value.length < least) return `${what} must not be empty`
    return value.length > most ? `${what} is longer than ${most} bytes` : null
  }
export const text =
  (least: number, most: number, what: string): Check =>
  (value) => {
    if (typeof value !== 'string') return `${what} must be text`
    return value.length < least || value.length > most
      ? `${what} must have ${least} to ${most} characters`
      : null
  }
export const whole =
  (least: number, most: number, what: string): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
      ? null
      : `${what} must be a whole number from ${least} to ${most}`
export const flag =
  (what: string): Check =>
  (value) =>
    typeof value === 'boolean' ? null : `${what} must be true or false`
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value)
export const listOf =
  (check: Check, what: string, most: number = CAPS.answerValues): Check =>
  (value) => {
    if (!Array.isArray(value)) return `${what} must be a list`
    if (value.length > most) return `${what} must be at most ${most}`
    for (const item of value) {
      const reason = check(item)
      if (reason !== null) return reason
    }
    return null
  }
/** Checks a list that must have one element for each check, in the same order. */
export const places =
  (what: string, ...checks: readonly Check[]): Check =>
  (value) => {
    if (!Array.isArray(value)) return `${what} must be a list`
    if (value.length !== checks.length) return `${what} must have ${checks.length} places`
    let i = 0
    for (const check of checks) {
      const reason = check(value[i++])
      if (reason !== null) return reason
    }
    return null
  }
export const anyBytes: Check = (value) => (value instanceof Uint8Array ? null : 'bytes belong here')
export const finite =
  (what: string): Check =>
  (value) =>
    Number.isFinite(value) ? null : `${what} must be a number`
const oneOf =
  (values: readonly unknown[], what: string): Check =>
  (value) =>
    values.includes(value) ? null : `${what} is unknown`

const MOST = Number.MAX_SAFE_INTEGER
export const count = (what: string): Check => whole(0, MOST, what)
/** -0 is refused, because its encoding differs from the encoding of 0. */
const integer =
  (what: string): Check =>
  (value) =>
    Number.isSafeInteger(value) && !Object.is(value, -0) ? null : `${what} must be a safe integer`
const key = bytes(1, CAPS.keyBytes, 'a key')
/** A range after a key starts at this key with a zero byte appended, so one byte more is allowed. */
export const bound = bytes(0, CAPS.keyBytes + 1, 'a bound')
const lockBound = bytes(0, KIND_BYTES + CAPS.keyBytes + 1, 'a bound')
const data = bytes(0, CAPS.valueBytes, 'a value')
const token = whole(0, MOST, 'a token')
const lease = whole(CAPS.minLease, CAPS.maxLease, 'a lease')
/**
 * The most characters of a holder's id. The client limits the bytes of the id to the same number, so the
 * client refuses more ids.
 */
const ID_LENGTH = CAPS.keyBytes
const holder = text(1, ID_LENGTH, 'an id')
const lockKey: Check = wrongLockKey
const guardToken = whole(1, MOST, "a guard's token")
const exclusiveGuard = places('a guard', lockKey, guardToken)
const sharedGuard = places('a guard', lockKey, guardToken, flag('shared'))
const guard: Check = (value) => {
  if (value === null) return null
  return Array.isArray(value) && Array.isArray(value[0]) ? guardsOfSet(value) : oneGuard(value)
}
const oneGuard: Check = (value) =>
  Array.isArray(value) && value.length === 3 ? sharedGuard(value) : exclusiveGuard(value)
const guardsOfSet: Check = (value) =>
  (value as unknown[]).length <= CAPS.keysOfSet
    ? listOf(oneGuard, 'guards')(value)
    : `at most ${CAPS.keysOfSet} locks guard a write`
export const context: Check = (value) => {
  if (value === null) return null
  const size =
    typeof value === 'string'
      ? Buffer.byteLength(value)
      : value instanceof Uint8Array
        ? value.length
        : undefined
  if (size === undefined) return 'a context must be text or bytes'
  return size > CAPS.contextBytes ? `a context is longer than ${CAPS.contextBytes} bytes` : null
}

const permits = whole(1, CAPS.permits, 'permits')
const exclusiveAttempt = places(
  'tryLock',
  count('an operation'),
  lockKey,
  orNull(key),
  flag('keepLease'),
  holder,
  lease,
  token,
  context,
  orNull(count('a wait')),
)
const isSemaphore = (of: unknown): boolean => kindOfLockKey(of as Uint8Array) === KIND.semaphore
const ofSemaphoreOnlyShared = (attempt: readonly unknown[]): string | null =>
  isSemaphore(attempt[1]) ? 'a semaphore is asked for permits' : null
/** A share is [wanted permits, all permits of the semaphore]. A shared hold of a lock has [1, 0]. */
const sharedAttempt = (attempt: readonly unknown[]): string | null => {
  const share = attempt[9]
  if (!Array.isArray(share) || share.length !== 2) return 'a share must have 2 places'
  const [wanted, of] = share as unknown[]
  if (kindOfLockKey(attempt[1] as Uint8Array) === KIND.election) return 'an election has one leader'
  if (!isSemaphore(attempt[1])) return wanted === 1 && of === 0 ? null : 'a lock is shared as 1 of 0'
  return permits(of) ?? whole(1, of as number, 'permits')(wanted)
}
const flowName = text(1, CAPS.flowBytes, 'a flow')
const flowForm = places('a flow', orNull(flowName), listOf(holder, 'holds around a request'))
const flow: Check = (value) => {
  const wrong = flowForm(value)
  if (wrong !== null) return wrong
  const [, around] = value as FlowArg
  return around.length <= CAPS.holdsOfFlow ? null : `at most ${CAPS.holdsOfFlow} holds around a request`
}
const flowAt =
  (place: number) =>
  (list: readonly unknown[]): string | null =>
    list.length === place + 1 ? flow(list[place]) : 'too many places'
const allForm = places(
  'tryLockAll',
  count('an operation'),
  holder,
  listOf(places('a key of a set', lockKey, whole(0, 1, 'permits')), 'keys'),
  orNull(key),
  lease,
  context,
  orNull(count('a wait')),
)
/** Refuses a key that occurs twice, because the caller would wait for itself. */
const setOfLocks = (list: readonly KeyModeArg[]): string | null => {
  if (list.length === 0 || list.length > CAPS.keysOfSet) return `a set has 1 to ${CAPS.keysOfSet} keys`
  if (list.some(([of]) => kindOfLockKey(of) !== KIND.lock)) return 'a set has locks only'
  return new Set(list.map(([of]) => binary(of))).size === list.length ? null : 'a set has a key twice'
}
const resizeForm = places('resize', count('an operation'), lockKey, permits)
const stealForm = places('steal', count('an operation'), lockKey, holder, lease, context)
const onlyWebLock = (of: Uint8Array): string | null =>
  kindOfLockKey(of) === KIND.webLock ? null : 'only a web lock is stolen'
const downgradeForm = places('downgrade', count('an operation'), lockKey, holder, token)
const onlyLock = (of: Uint8Array): string | null =>
  kindOfLockKey(of) === KIND.lock ? null : 'only a lock is downgraded'
const onlySemaphore = (of: Uint8Array): string | null =>
  isSemaphore(of) ? null : 'only a semaphore has a number of permits'

const life = (least: number): Check => whole(least, CAPS.maxLife, 'a life')
/** Checks a list that may have one more element, which `last` checks. */
const mayEndWith = (last: Check, what: string, ...checks: readonly Check[]): Check => {
  const without = places(what, ...checks)
  const all = places(what, ...checks, last)
  return (value) => (Array.isArray(value) && value.length > checks.length ? all(value) : without(value))
}
/** The last element is the ttl or the session of a key. */
const withLife = (what: string, ...checks: readonly Check[]): Check =>
  mayEndWith(life(LIFE_OF_SESSION), what, ...checks)

const STEPS: Record<number, Check> = {
  [STEP.put]: withLife('put', count('a step'), key, data),
  [STEP.merge]: places('merge', count('a step'), key, data),
  [STEP.delete]: places('delete', count('a step'), key),
  [STEP.deleteRange]: places('deleteRange', count('a step'), bound, bound),
  [STEP.get]: places('get', count('a step'), key),
  [STEP.increment]: places('increment', count('a step'), key, integer('what is added')),
}
const stepOf =
  (reads: boolean): Check =>
  (value) => {
    const kind: unknown = Array.isArray(value) ? value[0] : undefined
    const check = typeof kind === 'number' && (reads || kind !== STEP.get) ? STEPS[kind] : undefined
    return check === undefined ? 'a step is unknown' : check(value)
  }
const condition: Check = (value) => {
  if (!Array.isArray(value) || value.length !== 4) return 'a condition must have 4 places'
  const [field, is, of, than] = value as unknown[]
  const wrong = field === FIELD.lock ? lockKey(of) : key(of)
  if (wrong !== null) return wrong
  if (oneOf(Object.values(IS), 'a comparison')(is) !== null) return 'a comparison is unknown'
  if (field === FIELD.value) return orNull(data)(than)
  if (field === FIELD.lock)
    return is === IS['='] ? whole(1, MOST, 'a token')(than) : 'a lock is only compared by ='
  if (field === FIELD.number) return integer('a compared number')(than)
  return oneOf(Object.values(FIELD), 'a field')(field) ?? count('a compared number')(than)
}

const op = count('an operation')
const TXN_PLACES = [
  op,
  guard,
  listOf(condition, 'conditions'),
  listOf(stepOf(true), 'steps'),
  listOf(stepOf(true), 'steps'),
]
const digest = bytes(1, CAPS.digestBytes, 'a digest')
const once = places('what makes it happen once', key, digest, life(1))
const partyOf = oneOf(Object.values(PARTY_OF), 'what a party waits at')
const wait = whole(0, CAPS.maxLife, 'a wait')
export const checkTicket = places('a ticket', partyOf, key, holder)
const sessionLife = whole(1, CAPS.maxSessionLife, 'a life')
const identity = text(0, CAPS.identityLength, 'an identity')
const first = (count: number, list: unknown[]): unknown[] =>
  list.length <= count ? list : list.slice(0, count)
const COMMANDS: Record<number, Check> = {
  [OP.openSession]: mayEndWith(identity, 'openSession', op, sessionLife),
  [OP.endSession]: places('endSession', op, whole(1, CAPS.recordNumber, 'a session')),
  [OP.keepAlive]: places('keepAlive', op),
  [OP.closeSession]: places('closeSession', op),
  [OP.cancelCall]: places('cancelCall', op, whole(1, CAPS.recordNumber, 'a number')),
  [OP.put]: withLife('put', op, guard, key, data),
  [OP.putAll]: places('putAll', op, guard, listOf(withLife('a pair', key, data), 'pairs')),
  [OP.putIfAbsent]: places('putIfAbsent', op, guard, key, data),
  [OP.getAndPut]: places('getAndPut', op, guard, key, data),
  [OP.compareAndPutAll]: places(
    'compareAndPutAll',
    op,
    guard,
    listOf(places('a comparison', key, orNull(data), orNull(data)), 'comparisons'),
  ),
  [OP.merge]: places('merge', op, guard, key, data),
  [OP.deleteAll]: places('deleteAll', op, guard, listOf(key, 'keys')),
  [OP.deleteRange]: places('deleteRange', op, guard, bound, bound),
  [OP.batch]: places('batch', op, guard, listOf(stepOf(false), 'steps')),
  [OP.txn]: mayEndWith(once, 'txn', ...TXN_PLACES),
  [OP.applyOnce]: places('applyOnce', op, once, (value) => innerCommand(value)),
  [OP.nextSequence]: places('nextSequence', op, guard, key, whole(1, MOST, 'a step')),
  [OP.resetSequence]: places('resetSequence', op, guard, key),
  [OP.increment]: places('increment', op, guard, key, integer('what is added')),
  [OP.touch]: places('touch', op, guard, key, life(1)),
  [OP.tryLock]: (value) => {
    const list = value as unknown[]
    const isShared = list.length === 10 || (list.length > 10 && list[9] !== null)
    const wrong = exclusiveAttempt(first(9, list)) ?? (list.length > 10 ? flowAt(10)(list) : null)
    return wrong ?? (isShared ? sharedAttempt(list) : ofSemaphoreOnlyShared(list))
  },
  [OP.release]: places('release', op, lockKey, holder, token, flag('all')),
  [OP.renew]: places('renew', op, listOf(places('a renewal', lockKey, holder, token, lease), 'renewals')),
  [OP.cancelWait]: places('cancelWait', op, lockKey, holder),
  [OP.releaseAll]: places('releaseAll', op, listOf(places('a ticket', lockKey, holder), 'tickets')),
  [OP.forceRelease]: places('forceRelease', op, lockKey, whole(1, MOST, 'a token')),
  [OP.downgrade]: (value) => downgradeForm(value) ?? onlyLock((value as unknown[])[1] as Uint8Array),
  [OP.proclaim]: places('proclaim', op, lockKey, holder, token, context),
  [OP.rotate]: places('rotate', op, lockKey, holder, token),
  [OP.steal]: (value) => stealForm(value) ?? onlyWebLock((value as unknown[])[1] as Uint8Array),
  [OP.tryLockAll]: (value) => {
    const list = value as unknown[]
    const wrong = allForm(first(7, list)) ?? (list.length > 7 ? flowAt(7)(list) : null)
    return wrong ?? setOfLocks(list[2] as readonly KeyModeArg[])
  },
  [OP.resize]: (value) => resizeForm(value) ?? onlySemaphore((value as unknown[])[1] as Uint8Array),
  [OP.createLatch]: places('createLatch', op, key, count('a count')),
  [OP.countDown]: places('countDown', op, key, whole(1, MOST, 'what is counted')),
  [OP.removeLatch]: places('removeLatch', op, key),
  [OP.waitLatch]: places('waitLatch', op, key, holder, wait),
  [OP.enterBarrier]: places('enterBarrier', op, key, holder, whole(1, CAPS.partiesOfOne, 'parties'), wait),
  [OP.moveParty]: places('moveParty', op, partyOf, key, holder),
  [OP.leaveParties]: places('leaveParties', op, listOf(checkTicket, 'parties')),
}

const innerCommand: Check = (value) =>
  checkCommand(value) ??
  (isInnerCommand(value as Command) ? null : 'applyOnce may not contain this operation')

const read = count('a read')
const listPage = places('a page', orNull(lockBound), whole(0, CAPS.pageRows, 'a limit'))
const READS: Record<number, Check> = {
  [READ.get]: places('get', read, key),
  [READ.getEntry]: places('getEntry', read, key),
  [READ.multiGet]: places('multiGet', read, listOf(key, 'keys')),
  [READ.contains]: places('contains', read, key),
  [READ.page]: places(
    'page',
    read,
    count('a view'),
    flag('keep'),
    orNull(bound),
    orNull(bound),
    flag('reverse'),
    count('a limit'),
    oneOf(['both', 'keys', 'values', 'revisions'], 'a part'),
  ),
  [READ.closeView]: places('closeView', read, count('a view')),
  [READ.sequence]: places('sequence', read, key),
  [READ.lockQuery]: mayEndWith(listPage, 'lockQuery', read, orNull(lockBound), flag('queue'), flag('isKey')),
  [READ.lockOwner]: places('lockOwner', read, lockKey),
  [READ.ticket]: places('ticket', read, lockKey, holder),
  [READ.revision]: places('revision', read),
  [READ.lockState]: places('lockState', read, orNull(lockBound), orNull(lockBound)),
  [READ.lockHistory]: places('lockHistory', read, lockKey),
  [READ.backup]: places('backup', read, count('a view')),
  [READ.party]: places('party', read, partyOf, key, holder),
  [READ.parties]: mayEndWith(listPage, 'parties', read, partyOf, lockBound),
}

const kind = (value: unknown): number | undefined =>
  Array.isArray(value) && Number.isSafeInteger(value[0]) ? (value[0] as number) : undefined

/**
 * Returns false for an operation of a later version. A later version may also allow another operation inside
 * applyOnce.
 */
export function isKnownOperation(value: readonly unknown[]): boolean {
  const inner = value[0] === OP.applyOnce ? value[2] : undefined
  if (Array.isArray(inner) && isOperation(inner[0])) return isInnerCommand(inner as unknown as Command)
  return COMMANDS[value[0] as number] !== undefined
}

export const isOperation = (op: unknown): boolean => Number.isSafeInteger(op) && (op as number) > 0

export function checkCommand(value: unknown): string | null {
  const check = COMMANDS[kind(value) ?? -1]
  return check ? check(value) : 'no known operation'
}

export function checkRead(value: unknown): string | null {
  const check = READS[kind(value) ?? -1]
  return check ? check(value) : 'no known read'
}

/** Checks every element of an error. The caller must check the result of a success. */
export function checkAnswer(value: unknown): string | null {
  const code = kind(value)
  if (code === undefined) return 'an answer must be a list'
  if (code === 0) return (value as unknown[]).length === 2 ? null : 'an answer must have 2 places'
  return (value as unknown[]).length === 4 ? errorAnswer(value) : errorWithHolder(value)
}
const ERROR_PLACES = [
  whole(-2, 10_000, 'a code'),
  text(0, 10_000, 'a message'),
  flag('retryable'),
  flag('unknown'),
]
const errorAnswer = places('an error', ...ERROR_PLACES)

const lockHolder = places(
  'a holder',
  text(0, ID_LENGTH, 'an id'),
  context,
  token,
  count('what remains'),
  count('since'),
)
const errorWithHolder = places('an error', ...ERROR_PLACES, orNull(lockHolder))

export const checkOwner = places(
  'an owner',
  text(0, ID_LENGTH, 'an id'),
  count('a deadline'),
  whole(-4, MOST, 'what remains'),
  token,
  count('acquires'),
  context,
  whole(0, OWNER_CODES.length - 1, 'a code'),
  count('a time'),
)
export const checkParty = places(
  'a party',
  oneOf(PARTY_STATES, 'a state'),
  count('a generation'),
  count('an index'),
  count('a count'),
)
export const checkEvent = places(
  'an event',
  count('a revision'),
  whole(0, LOCK_EVENT.proclaimed, 'a type'),
  lockBound,
  orNull(data),
  orNull(data),
)
