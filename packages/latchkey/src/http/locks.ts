// Door: locks, semaphores and elections, for programs that hold them under an id of their own. The id is the idempotency
// key: a second request with the same id gets the same hold, and one release ends it, however often it was
// requested.

import { type LockPort, toOwner } from '@latchkey/lock'
import {
  KIND,
  type Kind,
  kindOfLockKey,
  LatchkeyError,
  type LockInfoResult,
  lockKeyOf,
  nameOfLockKey,
  OP,
  type OwnerResult,
  READ,
  type RenewResult,
  renewedOwners,
  shownKey,
} from '@latchkey/protocol'
import { problem } from './errors.js'
import type { Call, Reply } from './http-ports.js'
import { holdName, Leases } from './leases.js'
import {
  type AcquireBody,
  acquireBody,
  campaignBody,
  forceBody,
  holdBody,
  type HoldBody,
  permitsBody,
  proclaimBody,
} from './lock-body.js'
import { type Acquired, LockWait } from './lock-wait.js'
import { codeOf, isGranted, ownerJson, promisedMillis } from './owner-json.js'
import { limits } from './request-options.js'
import { formOption, type ValueForm, valueJson } from './values-json.js'

type Key = Uint8Array
type Locks = (call: Call, name: Key) => Promise<Reply>

export class LockDoor {
  readonly #leases = new Leases()
  /** How many calls for a hold are under way now. */
  readonly #asking = new Map<string, number>()

  readonly acquire: Locks = async (call, name) =>
    this.#acquire(lockKeyOf(KIND.lock, name), await acquireBody(call), call)
  readonly acquirePermits: Locks = async (call, name) =>
    this.#acquire(lockKeyOf(KIND.semaphore, name), await permitsBody(call), call)
  readonly campaign: Locks = async (call, name) =>
    this.#acquire(lockKeyOf(KIND.election, name), await campaignBody(call), call)

  async #acquire(key: Key, ask: AcquireBody, call: Call): Promise<Reply> {
    const { lockPort } = call.by
    const began = lockPort.clock.now()
    const { owner, stamped } = await this.#ask(key, ask, call)
    if (!isGranted(owner)) {
      if (ask.wait === null) return ownerReply(409, owner, `${taken(key)} Try again, or pass a wait.`, true)
      const waitedMillis = Math.round(lockPort.clock.now() - began)
      throwIfLeaderless(lockPort, key, waitedMillis)
      return ownerReply(409, owner, `${taken(key)} Try again, or wait longer.`, true, { waitedMillis })
    }
    this.#leases.set(key, ask.id, ask.lease)
    return granted(call, owner, stamped)
  }

  async #ask(key: Uint8Array, ask: AcquireBody, call: Call): Promise<Acquired> {
    const name = holdName(key, ask.id)
    this.#asking.set(name, (this.#asking.get(name) ?? 0) + 1)
    const isShared = () => (this.#asking.get(name) ?? 0) > 1
    try {
      return await new LockWait(call.by.lockPort, key, ask, limits(call), isShared).acquire()
    } finally {
      const left = (this.#asking.get(name) ?? 1) - 1
      if (left > 0) this.#asking.set(name, left)
      else this.#asking.delete(name)
    }
  }

  renew(kind: Kind): Locks {
    return async (call, name) => {
      const key = lockKeyOf(kind, name)
      const hold = await holdBody(call)
      const lease = hold.lease ?? this.#leases.get(key, hold.id)
      const list = [[key, hold.id, hold.token, lease]] as const
      const answer = await call.by.lockPort.command([OP.renew, list], limits(call)).result
      const [owner] = renewedOwners(list, answer as RenewResult)
      if (owner === undefined) throw new LatchkeyError('ERR_PROTOCOL')
      if (!isGranted(owner)) throw lostHold(owner, key, hold)
      return granted(call, owner, owner[7])
    }
  }

  release(kind: Kind): Locks {
    return async (call, name) => {
      const key = lockKeyOf(kind, name)
      const hold = await holdBody(call)
      const command = [OP.release, key, hold.id, hold.token, true] as const
      const owner = (await call.by.lockPort.command(command, limits(call)).result) as OwnerResult
      if (codeOf(owner) !== 'RELEASED') throw lostHold(owner, key, hold)
      this.#leases.delete(key, hold.id)
      return { status: 200, body: { id: hold.id, fencingToken: hold.token, acquires: 0 } }
    }
  }
}

export async function showLock(call: Call, name: Key): Promise<Reply> {
  const key = lockKeyOf(KIND.lock, name)
  const owner = (await call.by.lockPort.read([READ.lockOwner, key], limits(call))) as OwnerResult
  if (codeOf(owner) === 'NOT_HELD') return ownerReply(404, owner, 'Nobody holds that lock.', false)
  return { status: 200, body: { ...ownerJson(owner), success: false, code: codeOf(owner) } }
}

/** Without a token: every hold that is there now. */
export async function forceRelease(call: Call, name: Key): Promise<Reply> {
  const key = lockKeyOf(KIND.lock, name)
  const token = await forceBody(call)
  const tokens = token === undefined ? (await holdsOf(call, key)).map((row) => row[3]) : [token]
  let released = 0
  for (const one of tokens) {
    const isGone = await call.by.lockPort.command([OP.forceRelease, key, one], limits(call)).result
    if (isGone === true) released += 1
  }
  return { status: 200, body: { released } }
}

export async function proclaim(call: Call, name: Key): Promise<Reply> {
  const key = lockKeyOf(KIND.election, name)
  const said = await proclaimBody(call)
  const command = [OP.proclaim, key, said.id, said.token, said.context] as const
  const owner = (await call.by.lockPort.command(command, limits(call)).result) as OwnerResult
  if (!isGranted(owner)) throw lostHold(owner, key, said)
  return granted(call, owner, owner[7])
}

export async function showLeader(call: Call, name: Key): Promise<Reply> {
  const form = formOption(call)
  const [row] = await holdsOf(call, lockKeyOf(KIND.election, name))
  if (row === undefined) return problem(404, 'NOT_FOUND', 'Nobody leads that election.')
  const [, id, said, fencingToken, , remainingMillis] = row
  return { status: 200, body: { id, fencingToken, value: saidJson(said, form), remainingMillis } }
}

/** What a leader said; null: nothing. */
export const saidJson = (said: string | Uint8Array | null | undefined, form: ValueForm | undefined) =>
  said === null || said === undefined
    ? null
    : valueJson(typeof said === 'string' ? Buffer.from(said) : said, form)

const holdsOf = async (call: Call, key: Key): Promise<LockInfoResult[]> =>
  (await call.by.lockPort.read([READ.lockQuery, key, false, true], limits(call))) as LockInfoResult[]

const TAKEN: Readonly<Record<number, string>> = {
  [KIND.semaphore]: 'So many permits are not free.',
  [KIND.election]: 'Another leads.',
}
const taken = (key: Key): string => TAKEN[kindOfLockKey(key)] ?? 'Another holds the lock.'

function granted(call: Call, owner: OwnerResult, stamped: number): Reply {
  const [id, deadline, , fencingToken] = owner
  const remainingMillis = promisedMillis(deadline, stamped, call.by.lockPort.bound.rate)
  return { status: 200, body: { id, fencingToken, remainingMillis } }
}

/** The Owner, with the fields that every refusal has. */
function ownerReply(
  status: number,
  owner: OwnerResult,
  message: string,
  retryable: boolean,
  more: { readonly waitedMillis?: number } = {},
): Reply {
  const body = {
    ...more,
    ...ownerJson(owner),
    success: false,
    code: codeOf(owner),
    message,
    retryable,
    outcome: 'not-applied',
  }
  return { status, body }
}

/**
 * The caller must be able to tell a lock that another holds from a cluster without a leader: the Owner is
 * what was so when the wait began.
 */
function throwIfLeaderless(port: LockPort, key: Uint8Array, waitedMillis: number): void {
  const leaderless = port.noLeader()
  if (leaderless === undefined) return
  const { message, missing, leader } = leaderless
  throw new LatchkeyError('ERR_NO_LEADER', message, {
    missing,
    leader,
    key: shownKey(nameOfLockKey(key)),
    waitedMillis,
  })
}

/**
 * ERR_NOT_OWNER if another holds the lock, or this id does under a later token; ERR_LOCK_LOST if no hold is
 * in force.
 */
function lostHold(owner: OwnerResult, key: Uint8Array, hold: HoldBody): LatchkeyError {
  const fields = { key: shownKey(nameOfLockKey(key)), token: hold.token }
  const taken = codeOf(owner) === 'HELD' || codeOf(owner) === 'NOT_OWNER'
  if (!taken)
    return new LatchkeyError(
      'ERR_LOCK_LOST',
      'That hold is over: its lease has ended, or it was released. Stop the work it guarded; acquire again to go on.',
      fields,
    )
  const message =
    owner[0] === hold.id ? 'That id holds the lock under another token.' : 'Another holds the lock.'
  return new LatchkeyError('ERR_NOT_OWNER', message, { ...fields, owner: toOwner(owner) })
}
