// Rule: finds the keys and locks that a request reads or changes, and whether an identity may do so. Requests
// by WebSocket, by HTTP and from an embedded store are all checked here.
//
// Law: every request whose answer depends on a stored value needs the right to read. Without this law: a
// client with only the right to write reads every value with putIfAbsent, or bit by bit with conditions such
// as "is the value greater than x?".
//
//   request                                     | right          | touches
//   openSession, keepAlive, closeSession        | write          | nothing
//   cancelCall                                  | write          | nothing
//   put, touch, putAll, merge, deleteAll        | write          | their keys, and the guard's lock
//   compareAndPutAll                            | write          | their keys, and the guard's lock
//   putIfAbsent, getAndPut, increment           | write and read | their keys, and the guard's lock
//   deleteRange                                 | write          | its range, and the guard's lock
//   batch                                       | write          | its keys and ranges, and the guard's lock
//   batch with an increment                     | write and read | its keys and ranges, and the guard's lock
//   txn                                         | write          | its keys and ranges, and its locks
//   txn with a get, an increment, or a          | write and read | its keys and ranges, and its locks
//     condition < or > or with a number         |                |
//   txn with an idempotency key                 | as above       | also the key of its stored answer
//   applyOnce                                   | as its command | also the key of its stored answer
//   nextSequence, resetSequence                 | write          | the key, and the guard's lock
//   tryLock                                     | write          | the lock, and its fencing key as a lock
//   release, renew, cancelWait, forceRelease,   | write          | their locks
//     releaseAll, downgrade, proclaim, resize,  |                |
//     rotate, steal                             |                |
//   tryLockAll                                  | write          | the locks, and their fencing key as a lock
//   createLatch, countDown, removeLatch,        | write          | their names, checked like locks
//     waitLatch, enterBarrier, leaveParties,    |                |
//     moveParty                                 |                |
//   read get, getEntry, multiGet, contains      | read           | their keys
//   read page                                   | read           | its range
//   read sequence                               | read           | the key
//   read closeView, revision                    | read           | nothing
//   read lockOwner, lockHistory                 | read           | the lock
//   read lockQuery                              | read           | the locks below its prefix, or one lock
//   read ticket (a waiter asks for its state)   | write          | the lock
//   read party (a waiter asks for its state)    | write          | its name, checked like a lock
//   read parties                                | read           | the names below its prefix
//   read backup                                 | admin          | everything
//   watch                                       | read           | its range
//
// Law: a client without the right to read never gets the context of a hold, even if the client names the
// holder's id as its own. The ids of holders are no secret, so such a client could otherwise read every
// context.
//
// Law: each key of a request must have an allowed prefix, and each range must lie within one allowed prefix.
// Otherwise the member refuses the whole request. Without this law: a client gets the allowed part of a scan
// and believes that the scan is complete.

import { prefixEnd } from '@latchkey/base'
import {
  CAPS,
  type Command,
  type CommandOf,
  type ConditionArg,
  FIELD,
  type GuardArg,
  guardsOf,
  IS,
  LatchkeyError,
  nameOfLockKey,
  OP,
  READ,
  type Read,
  show,
  STEP,
  type Step,
  WATCH_OF,
  type WatchOf,
} from '@latchkey/protocol'
import { isBelowOne, prefixOf, type Span } from './key-prefixes.js'
import { ANONYMOUS, type Identity, RIGHTS, type Right } from './identity-and-rights.js'

type Key = Uint8Array
export interface Touched {
  readonly keys: readonly Key[]
  readonly spans: readonly Span[]
  readonly locks: readonly Key[]
  readonly lockSpans: readonly Span[]
}

const NOTHING: Touched = { keys: [], spans: [], locks: [], lockSpans: [] }
const ALL: Span = [null, null]

const WRITE: readonly Right[] = ['write']
const ADMIN: readonly Right[] = ['admin']
const WRITE_AND_READ: readonly Right[] = ['write', 'read']

export function rightsForCommand(command: Command): readonly Right[] {
  const op = command[0]
  if (op === OP.putIfAbsent || op === OP.getAndPut || op === OP.increment) return WRITE_AND_READ
  if (command[0] === OP.endSession) return ADMIN
  if (command[0] === OP.batch) return command[2].some(shows) ? WRITE_AND_READ : WRITE
  if (command[0] === OP.applyOnce) return rightsForCommand(command[2])
  if (command[0] !== OP.txn) return WRITE
  const [, , when, then, otherwise] = command
  return when.some(ordersValues) || then.some(shows) || otherwise.some(shows) ? WRITE_AND_READ : WRITE
}

const ordersValues = ([field, is]: ConditionArg): boolean =>
  field === FIELD.number || (field === FIELD.value && (is === IS['<'] || is === IS['>']))
const shows = ([step]: Step): boolean => step === STEP.get || step === STEP.increment

export function rightForRead(read: Read): Right {
  if (read[0] === READ.backup) return 'admin'
  return read[0] === READ.ticket || read[0] === READ.party ? 'write' : 'read'
}

export function touchedByCommand(command: Command): Touched {
  switch (command[0]) {
    case OP.openSession:
    case OP.keepAlive:
    case OP.closeSession:
    case OP.cancelCall:
    case OP.endSession:
      return NOTHING
    case OP.put:
    case OP.putIfAbsent:
    case OP.getAndPut:
    case OP.merge:
    case OP.increment:
    case OP.touch:
    case OP.nextSequence:
    case OP.resetSequence:
      return guarded(command[1], { keys: [command[2]] })
    case OP.putAll:
    case OP.compareAndPutAll:
      return guarded(command[1], { keys: keysIn(command[2]) })
    case OP.deleteAll:
      return guarded(command[1], { keys: command[2] })
    case OP.deleteRange:
      return guarded(command[1], { spans: [[command[2], command[3]]] })
    case OP.batch:
      return guarded(command[1], stepped(command[2]))
    case OP.txn:
      return touchedByTxn(command)
    case OP.applyOnce:
      return withKey(touchedByCommand(command[2]), command[1][0])
    case OP.tryLock:
      return locksAndFencingKey([command[1]], command[2])
    case OP.release:
    case OP.cancelWait:
    case OP.forceRelease:
    case OP.downgrade:
    case OP.proclaim:
    case OP.resize:
    case OP.rotate:
    case OP.steal:
      return { ...NOTHING, locks: [nameOfLockKey(command[1])] }
    case OP.tryLockAll:
      return locksAndFencingKey(keysIn(command[2]), command[3])
    case OP.renew:
    case OP.releaseAll:
      return { ...NOTHING, locks: command[1].map(([key]) => nameOfLockKey(key)) }
    case OP.createLatch:
    case OP.countDown:
    case OP.removeLatch:
    case OP.waitLatch:
    case OP.enterBarrier:
      return { ...NOTHING, locks: [command[1]] }
    case OP.moveParty:
      return { ...NOTHING, locks: [command[2]] }
    case OP.leaveParties:
      return { ...NOTHING, locks: command[1].map(([, name]) => name) }
  }
}

const keysIn = (list: readonly (readonly [Key, ...unknown[]])[]): Key[] => list.map(([key]) => key)

const withKey = (touched: Touched, key: Key): Touched => ({ ...touched, keys: [...touched.keys, key] })

const locksAndFencingKey = (keys: readonly Key[], fencingKey: Key | null): Touched => {
  const names = keys.map(nameOfLockKey)
  return { ...NOTHING, locks: fencingKey === null ? names : [...names, fencingKey] }
}

const guarded = (guard: GuardArg, touched: Partial<Touched>): Touched => ({
  ...NOTHING,
  ...touched,
  locks: guardsOf(guard).map(([key]) => nameOfLockKey(key)),
})

function stepped(steps: readonly Step[]): Pick<Touched, 'keys' | 'spans'> {
  const keys: Key[] = []
  const spans: Span[] = []
  for (const step of steps) {
    if (step[0] === STEP.deleteRange) spans.push([step[1], step[2]])
    else keys.push(step[1])
  }
  return { keys, spans }
}

function touchedByTxn([, guard, when, then, otherwise, once]: CommandOf<'txn'>): Touched {
  const asked = (isLock: boolean) =>
    when.filter(([field]) => (field === FIELD.lock) === isLock).map(([, , key]) => key)
  const { keys, spans } = stepped([...then, ...otherwise])
  const touched = guarded(guard, {
    keys: [...asked(false), ...keys, ...(once === undefined ? [] : [once[0]])],
    spans,
  })
  return { ...touched, locks: [...touched.locks, ...asked(true).map(nameOfLockKey)] }
}

export function touchedByRead(read: Read): Touched {
  switch (read[0]) {
    case READ.get:
    case READ.getEntry:
    case READ.contains:
    case READ.sequence:
      return { ...NOTHING, keys: [read[1]] }
    case READ.multiGet:
      return { ...NOTHING, keys: read[1] }
    case READ.page:
      return { ...NOTHING, spans: [[read[3], read[4]]] }
    case READ.lockOwner:
    case READ.lockHistory:
    case READ.ticket:
      return { ...NOTHING, locks: [nameOfLockKey(read[1])] }
    case READ.party:
      return { ...NOTHING, locks: [read[2]] }
    case READ.parties:
      return { ...NOTHING, ...lockQuery(read[2], false) }
    case READ.lockQuery:
      return { ...NOTHING, ...lockQuery(read[1], read[3]) }
    case READ.lockState:
      return { ...NOTHING, lockSpans: [spanOfNames([read[1], read[2]])] }
    case READ.backup:
      return { ...NOTHING, spans: [ALL], lockSpans: [ALL] }
    case READ.closeView:
    case READ.revision:
      return NOTHING
  }
}

function lockQuery(at: Key | null, isKey: boolean): Partial<Touched> {
  const name = at === null ? at : nameOfLockKey(at)
  if (isKey) return { locks: name === null ? [] : [name] }
  return { lockSpans: [name === null || name.length === 0 ? ALL : [name, prefixEnd(name) ?? null]] }
}

/**
 * Converts a range of stored lock keys to a range of lock names. The stored key of a semaphore or an election
 * begins with two bytes for its kind, but most stored keys of locks do not. If only the end of the range
 * begins with such bytes, the range contains all keys after its start that have no such bytes. So the result
 * has no end.
 */
function spanOfNames([start, end]: Span): Span {
  const from = start === null ? null : nameOfLockKey(start)
  const isMarked = (key: Key | null) => key !== null && nameOfLockKey(key) !== key
  const to = end === null || (isMarked(end) && !isMarked(start)) ? null : nameOfLockKey(end)
  return [from?.length === 0 ? null : from, to?.length === 0 ? null : to]
}

/** With all rights and no prefixes, the keys of a request need not be computed. */
const mayDoAll = (who: Identity): boolean => who.rights.length === RIGHTS.length && !isLimited(who)

export function refusalOfCommand(who: Identity, command: Command): LatchkeyError | undefined {
  if (mayDoAll(who)) return undefined
  const missing = rightsForCommand(command).find((right) => !who.rights.includes(right))
  if (missing !== undefined) return lacks(missing)
  return isLimited(who) ? outside(who, touchedByCommand(command)) : undefined
}

export function refusalOfRead(who: Identity, read: Read): LatchkeyError | undefined {
  const right = rightForRead(read)
  if (!who.rights.includes(right)) return lacks(right)
  return isLimited(who) ? outside(who, touchedByRead(read)) : undefined
}

export function refusalOfWatch(
  who: Identity,
  span: Span,
  of: WatchOf = WATCH_OF.keys,
): LatchkeyError | undefined {
  if (!who.rights.includes('read')) return lacks('read')
  return isLimited(who)
    ? outside(
        who,
        of === WATCH_OF.keys ? { ...NOTHING, spans: [span] } : { ...NOTHING, lockSpans: [spanOfNames(span)] },
      )
    : undefined
}

export const isLimited = ({ keys, locks }: Identity): boolean => keys !== undefined || locks !== undefined

export const mayTouchLock = ({ locks }: Identity, key: Key): boolean =>
  locks === undefined || prefixOf(locks, nameOfLockKey(key)) !== undefined

function lacks(right: Right): LatchkeyError {
  const why =
    right === 'read'
      ? ' A call that returns a stored value, or compares a stored value with < or >, needs the right to read too.'
      : ''
  return new LatchkeyError(
    'ERR_FORBIDDEN',
    `These credentials lack the right ${JSON.stringify(right)}, which this call needs.${why}`,
  )
}

function outside({ keys, locks }: Identity, touched: Touched): LatchkeyError | undefined {
  if (keys !== undefined && !isWithin(keys, touched.keys, touched.spans)) return notBelow('keys', keys)
  if (locks !== undefined && !isWithin(locks, touched.locks, touched.lockSpans))
    return notBelow('locks', locks)
  return undefined
}

const isWithin = (prefixes: readonly Key[], keys: readonly Key[], spans: readonly Span[]): boolean =>
  keys.every((key) => prefixOf(prefixes, key) !== undefined) &&
  spans.every((span) => isBelowOne(prefixes, span))

/**
 * A session belongs to the identity that opened it. The id of a session is an index of the log, so anybody
 * can guess an id. Without this check: a client ends the session of another client, whose waiters then leave
 * their queues. Or a client reports that the calls of another client are finished, and the retries of these
 * calls are refused. `opener` is undefined if this member does not know the session yet.
 */
export const isOthersSession = ({ name }: Identity, opener: string | undefined): boolean =>
  opener !== undefined && opener !== openerName(name)

/** Several clients may share such an identity. */
export const isAnonymous = ({ name }: Identity): boolean => name.startsWith(ANONYMOUS.name)

/** The stored row of a session contains this shortened name of the opener. */
export const openerName = (name: string): string => name.slice(0, CAPS.identityLength)

const MOST_NAMED = 10

function notBelow(what: 'keys' | 'locks', prefixes: readonly Key[]): LatchkeyError {
  const named = prefixes.slice(0, MOST_NAMED).map((prefix) => show(Buffer.from(prefix).toString()))
  const more = prefixes.length > MOST_NAMED ? ` and ${prefixes.length - MOST_NAMED} more` : ''
  const allowed =
    named.length === 0
      ? `These credentials may touch no ${what} at all.`
      : `These credentials may touch ${what} below ${named.join(', ')}${more} only, and a range must lie below one of them.`
  return new LatchkeyError('ERR_FORBIDDEN', allowed)
}
