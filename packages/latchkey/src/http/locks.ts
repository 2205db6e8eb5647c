// Door: /v1/locks/{key}, for programs that hold a lock under an id of their own. The id is the idempotency
// key: a second request with the same id gets the same hold, and one release ends it, however often it was
// requested.

import {
  LatchkeyError,
  OP,
  type OwnerResult,
  READ,
  type RenewResult,
  renewedOwners,
} from '@latchkey/protocol'
import { holdName, Leases } from './leases.js'
import { type AcquireBody, acquireBody, holdBody, type HoldBody } from './lock-body.js'
import { timeoutOption } from './request-options.js'
import { codeOf, isGranted, ownerJson, promisedMillis } from './owner-json.js'
import type { Call, Reply } from './http-ports.js'
import type { LockVerb } from './routes.js'
import { type Acquired, LockWait } from './lock-wait.js'

const DEFAULT_TIMEOUT = 5_000

export class LockDoor {
  readonly #leases = new Leases()
  /** How many calls for a hold are under way now. */
  readonly #asking = new Map<string, number>()

  serve(key: Uint8Array, verb: LockVerb | undefined, call: Call): Promise<Reply> {
    if (verb === undefined) return this.#show(key, call)
    if (verb === 'acquire') return this.#acquire(key, call)
    return verb === 'renew' ? this.#renew(key, call) : this.#release(key, call)
  }

  async #show(key: Uint8Array, call: Call): Promise<Reply> {
    const owner = (await call.by.lockPort.read([READ.lockOwner, key], limits(call))) as OwnerResult
    if (codeOf(owner) === 'NOT_HELD') return ownerReply(404, owner, 'Nobody holds that lock.', false)
    return { status: 200, body: { ...ownerJson(owner), success: false, code: codeOf(owner) } }
  }

  async #acquire(key: Uint8Array, call: Call): Promise<Reply> {
    const ask = await acquireBody(call)
    const { owner, stamped } = await this.#ask(key, ask, call)
    if (!isGranted(owner))
      return ownerReply(409, owner, 'Another holds the lock. Try again, or pass a wait.', true)
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

  async #renew(key: Uint8Array, call: Call): Promise<Reply> {
    const hold = await holdBody(call, true)
    const lease = hold.lease ?? this.#leases.get(key, hold.id)
    const list = [[key, hold.id, hold.token, lease]] as const
    const answer = await call.by.lockPort.command([OP.renew, list], limits(call)).result
    const [owner] = renewedOwners(list, answer as RenewResult)
    if (owner === undefined) throw new LatchkeyError('ERR_PROTOCOL')
    if (!isGranted(owner)) throw lostHold(owner, hold)
    return granted(call, owner, owner[7])
  }

  async #release(key: Uint8Array, call: Call): Promise<Reply> {
    const hold = await holdBody(call, false)
    const command = [OP.release, key, hold.id, hold.token, true] as const
    const owner = (await call.by.lockPort.command(command, limits(call)).result) as OwnerResult
    if (codeOf(owner) !== 'RELEASED') throw lostHold(owner, hold)
    this.#leases.delete(key, hold.id)
    return { status: 200, body: { id: hold.id, fencingToken: hold.token, acquires: 0 } }
  }
}

function granted(call: Call, owner: OwnerResult, stamped: number): Reply {
  const [id, deadline, , fencingToken] = owner
  const remainingMillis = promisedMillis(deadline, stamped, call.by.lockPort.bound.rate)
  return { status: 200, body: { id, fencingToken, remainingMillis } }
}

const limits = (call: Call) => ({ timeout: timeoutOption(call) ?? DEFAULT_TIMEOUT, signal: call.signal })

/** The Owner, with the fields that every refusal has. */
function ownerReply(status: number, owner: OwnerResult, message: string, retryable: boolean): Reply {
  const body = {
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
 * ERR_NOT_OWNER if another holds the lock, or this id does under a later token; ERR_LOCK_LOST if no hold is
 * in force.
 */
function lostHold(owner: OwnerResult, hold: HoldBody): LatchkeyError {
  const taken = codeOf(owner) === 'HELD' || codeOf(owner) === 'NOT_OWNER'
  if (!taken)
    return new LatchkeyError(
      'ERR_LOCK_LOST',
      'That hold is over: its lease has ended, or it was released. Stop the work it guarded; acquire again to go on.',
    )
  const message =
    owner[0] === hold.id ? 'That id holds the lock under another token.' : 'Another holds the lock.'
  return new LatchkeyError('ERR_NOT_OWNER', message)
}
