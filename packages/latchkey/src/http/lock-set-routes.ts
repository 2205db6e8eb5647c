// Door: the routes for lock sets: POST /v1/locks:acquireAll, :renewAll and :releaseAll. The cluster grants
// all locks of a set in one command, or no lock of the set. The id that the caller gives to the set is also
// the idempotency key.

import { circleError } from '@latchkey/lock'
import {
  LatchkeyError,
  nameOfLockKey,
  OP,
  type OwnerResult,
  type RenewResult,
  renewedOwners,
  shownKey,
  type TicketArg,
} from '@latchkey/protocol'
import type { CallerSessions } from './sessions-of-open-http-requests.js'
import type { CallsInProgress } from './calls-in-progress-per-hold.js'
import { keyJson } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { holdName, type Leases } from './lease-durations-by-hold.js'
import { lostHold, ownerReply, waitIsOver } from './lock-refusal-replies.js'
import { releaseSetBody, renewSetBody, setBody } from './lock-set-body.js'
import { LockSetWait, type LockSetResult, type LockSetRequest } from './wait-for-lock-set.js'
import { isGranted, promisedMillis } from './owner-json.js'
import { limits } from './request-headers-and-query.js'

type Key = Uint8Array

export class LockSetRoutes {
  readonly #leases: Leases
  readonly #underWay: CallsInProgress
  readonly #sessions: CallerSessions

  constructor(leases: Leases, underWay: CallsInProgress, sessions: CallerSessions) {
    this.#leases = leases
    this.#underWay = underWay
    this.#sessions = sessions
  }

  readonly acquireAll = async (call: Call): Promise<Reply> => {
    const ask = await setBody(call)
    const tickets = ask.list.map(([key]): TicketArg => [key, ask.id])
    return this.#sessions.acquire(call, { ...ask, tickets }, (within) => this.#acquire(ask, within))
  }

  async #acquire(ask: LockSetRequest, call: Call): Promise<Reply> {
    const { lockPort } = call.by
    const name = `${ask.list.map(([key]) => holdName(key, '')).join('')}/${ask.id}`
    const answer = await this.#underWay.with(name, (isShared) =>
      new LockSetWait(lockPort, ask, limits(call), isShared).acquire(),
    )
    const [state, owners, circle = []] = answer.result
    if (state === 'held') return this.#granted(call, ask, owners, answer)
    const [[first]] = ask.list as [LockSetRequest['list'][number]]
    if (state === 'circle') throw circleError(circle, shownKey(nameOfLockKey(first)), lockPort.decoding)
    if (state === 'broken') throw brokenSet(first)
    if (state === 'queued') {
      const keys = ask.list.map(([key]) => key)
      return waitIsOver(call, keys, ask.id, Math.round(answer.waitedMillis), TAKEN)
    }
    const [owner] = owners
    if (owner === undefined) throw new TypeError(OTHER_SET)
    return ownerReply(409, owner, `${TAKEN} Try again, or pass a wait.`, true)
  }

  /**
   * The answer says for how long the caller may rely on the set, counted from the caller's HTTP request. But
   * promisedMillis counts from the last command of this member, which was sent `waitedMillis` after the first
   * command. So the member adds `waitedMillis`. The member first divides this time by `rate`, because the
   * caller's clock may be slower than the member's clock.
   */
  #granted(
    call: Call,
    { id, list, lease }: LockSetRequest,
    owners: readonly OwnerResult[],
    { waitedMillis }: LockSetResult,
  ): Reply {
    const { rate } = call.by.lockPort.bound
    for (const [key] of list) this.#leases.set(key, id, lease)
    return grantedSet(
      id,
      list.map(([key]) => key),
      owners,
      rate,
      Math.floor(waitedMillis / rate),
    )
  }

  readonly renewAll = async (call: Call): Promise<Reply> => {
    const { id, locks, lease } = await renewSetBody(call)
    const list = locks.map(({ key, token }) => [key, id, token, lease ?? this.#leases.get(key, id)] as const)
    const answer = await call.by.lockPort.command([OP.renew, list], limits(call)).result
    const owners = renewedOwners(list, answer as RenewResult)
    if (owners.length !== list.length) throw new LatchkeyError('ERR_PROTOCOL')
    for (const [i, { key, token }] of locks.entries()) {
      const owner = owners[i] as OwnerResult
      if (!isGranted(owner)) throw lostHold(owner, key, { id, token })
    }
    return grantedSet(
      id,
      locks.map(({ key }) => key),
      owners,
      call.by.lockPort.bound.rate,
      0,
    )
  }

  readonly releaseAll = async (call: Call): Promise<Reply> => {
    const { id, keys } = await releaseSetBody(call)
    const tickets = keys.map((key): TicketArg => [key, id])
    const tokens = await call.by.lockPort.command([OP.releaseAll, tickets], limits(call)).result
    for (const key of keys) {
      this.#leases.delete(key, id)
      this.#sessions.released(key, id)
    }
    const released = (tokens as readonly number[]).filter((token) => token > 0).length
    return { status: 200, body: { id, released } }
  }
}

function grantedSet(
  id: string,
  keys: readonly Key[],
  owners: readonly OwnerResult[],
  rate: number,
  more: number,
): Reply {
  const remaining = owners.map(([, deadline, , , , , , now]) => promisedMillis(deadline, now, rate))
  const locks = keys.map((key, i) => ({
    ...keyJson(nameOfLockKey(key)),
    fencingToken: (owners[i] as OwnerResult)[3],
  }))
  return { status: 200, body: { id, locks, remainingMillis: Math.min(...remaining) + more } }
}

const TAKEN = 'Another caller holds one of the locks.'
const OTHER_SET = 'That id waits for other locks already: draw another id for each set.'

const brokenSet = (first: Key): LatchkeyError =>
  new LatchkeyError(
    'ERR_LOCK_LOST',
    'That id holds a part of these locks only. Stop the work they guarded, send :releaseAll, and acquire the set again under another id.',
    { key: shownKey(nameOfLockKey(first)) },
  )
