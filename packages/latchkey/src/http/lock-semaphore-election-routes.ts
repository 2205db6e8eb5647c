// Door: the routes for locks, semaphores and elections. A caller chooses an id for its hold of a lock. The id
// is also the idempotency key: a second request with the same id returns the same hold. One release ends the
// hold, even if several requests with the same id acquired the hold.

import {
  type Command,
  KIND,
  type Kind,
  kindOfLockKey,
  LatchkeyError,
  type LockInfoResult,
  lockKeyOf,
  OP,
  type OwnerResult,
  READ,
  type RenewResult,
  renewedOwners,
} from '@latchkey/protocol'
import { problem } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { holdName, Leases } from './lease-durations-by-hold.js'
import {
  type AcquireBody,
  acquireBody,
  campaignBody,
  forceBody,
  type HoldBody,
  holdBody,
  permitsBody,
  proclaimBody,
} from './lock-body.js'
import { type Acquired, LockWait } from './wait-for-lock.js'
import { CallerSessions } from './sessions-of-open-http-requests.js'
import { CallsInProgress } from './calls-in-progress-per-hold.js'
import { lostHold, ownerReply, waitIsOver } from './lock-refusal-replies.js'
import { LockSetRoutes } from './lock-set-routes.js'
import { codeOf, isGranted, ownerJson, promisedMillis } from './owner-json.js'
import { objectOf } from './json-body.js'
import { onceCalls, refuseIdempotencyKey } from './idempotency-key-header.js'
import { callOptions, limits } from './request-headers-and-query.js'
import { formOption, type ValueForm, valueJson } from './values-json.js'

type Key = Uint8Array
type Locks = (call: Call, name: Key) => Promise<Reply>

export class LockRoutes {
  readonly #leases = new Leases()
  readonly #underWay = new CallsInProgress()
  readonly sessions = new CallerSessions()
  readonly sets = new LockSetRoutes(this.#leases, this.#underWay, this.sessions)

  readonly acquire: Locks = async (call, name) =>
    this.#bound(lockKeyOf(KIND.lock, name), await acquireBody(call), call)
  readonly acquirePermits: Locks = async (call, name) =>
    this.#bound(lockKeyOf(KIND.semaphore, name), await permitsBody(call), call)
  readonly campaign: Locks = async (call, name) =>
    this.#bound(lockKeyOf(KIND.election, name), await campaignBody(call), call)

  #bound(key: Key, ask: AcquireBody, call: Call): Promise<Reply> {
    const bound = { ...ask, tickets: [[key, ask.id]] as const }
    return this.sessions.acquire(call, bound, (within) => this.#acquire(key, ask, within))
  }

  async #acquire(key: Key, ask: AcquireBody, call: Call): Promise<Reply> {
    const { lockPort } = call.by
    const began = lockPort.clock.now()
    const acquired = await this.#ask(key, ask, call)
    if (acquired === undefined)
      return waitIsOver(call, [key], ask.id, Math.round(lockPort.clock.now() - began), taken(key))
    const { owner, entryTime } = acquired
    if (!isGranted(owner)) return ownerReply(409, owner, `${taken(key)} Try again, or pass a wait.`, true)
    this.#leases.set(key, ask.id, ask.lease)
    return granted(call, owner, entryTime)
  }

  #ask(key: Uint8Array, ask: AcquireBody, call: Call): Promise<Acquired | undefined> {
    return this.#underWay.with(holdName(key, ask.id), (isShared) =>
      new LockWait(call.by.lockPort, key, ask, limits(call), isShared).acquire(),
    )
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
      this.sessions.released(key, hold.id)
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

/** Without a fencing token, the route ends all present holds. */
export async function forceRelease(call: Call, name: Key): Promise<Reply> {
  const key = lockKeyOf(KIND.lock, name)
  const token = await forceBody(call)
  if (token === undefined)
    refuseIdempotencyKey(call, 'A repeated request ends the next hold. Name the hold by its fencingToken.')
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
  return changed(call, key, said, [OP.proclaim, key, said.id, said.token, said.context])
}

/**
 * Gives the hold a new fencing token. From now on, the cluster refuses writes whose guard has the old token.
 */
export const rotate: Locks = (call, name) => changedHold(call, name, OP.rotate)

export const downgrade: Locks = (call, name) => changedHold(call, name, OP.downgrade)

async function changedHold(
  call: Call,
  name: Key,
  op: typeof OP.rotate | typeof OP.downgrade,
): Promise<Reply> {
  const key = lockKeyOf(KIND.lock, name)
  const hold = await holdBody(call)
  return changed(call, key, hold, [op, key, hold.id, hold.token])
}

async function changed(call: Call, key: Key, hold: HoldBody, command: Command): Promise<Reply> {
  const owner = (await onceCalls(call).lockPort.command(command, limits(call)).result) as OwnerResult
  if (!isGranted(owner)) throw lostHold(owner, key, hold)
  return granted(call, owner, owner[7])
}

export async function resizeSemaphore(call: Call, name: Key): Promise<Reply> {
  const { of } = await objectOf(call)
  await onceCalls(call).semaphores.resize(name, of as number, callOptions(call))
  return { status: 204 }
}

export async function showLeader(call: Call, name: Key): Promise<Reply> {
  const form = formOption(call)
  const [row] = await holdsOf(call, lockKeyOf(KIND.election, name))
  if (row === undefined) return problem(404, 'NOT_FOUND', 'Nobody leads that election.')
  const [, id, said, fencingToken, , remainingMillis] = row
  return { status: 200, body: { id, fencingToken, value: saidJson(said, form), remainingMillis } }
}

export const saidJson = (said: string | Uint8Array | null | undefined, form: ValueForm | undefined) =>
  said === null || said === undefined
    ? null
    : valueJson(typeof said === 'string' ? Buffer.from(said) : said, form)

const holdsOf = async (call: Call, key: Key): Promise<LockInfoResult[]> =>
  (await call.by.lockPort.read([READ.lockQuery, key, false, true], limits(call))) as LockInfoResult[]

const TAKEN: Readonly<Record<number, string>> = {
  [KIND.semaphore]: 'Not enough permits are free.',
  [KIND.election]: 'Another caller leads.',
}
const taken = (key: Key): string => TAKEN[kindOfLockKey(key)] ?? 'Another caller holds the lock.'

function granted(call: Call, owner: OwnerResult, entryTime: number): Reply {
  const [id, deadline, , fencingToken] = owner
  const remainingMillis = promisedMillis(deadline, entryTime, call.by.lockPort.bound.rate)
  return { status: 200, body: { id, fencingToken, remainingMillis } }
}
