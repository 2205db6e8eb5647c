// Driver: owns one attempt to acquire a set of locks: its id, its requests, its places in the queues, and its
// holds.

import type {
  ContextArg,
  FlowArg,
  KeyModeArg,
  LatchkeyError,
  OwnerResult,
  TicketArg,
  TryLockAllResult,
} from '@latchkey/protocol'
import { EMPTY } from '@latchkey/base'
import { OP, shownLockKey } from '@latchkey/protocol'
import { NOT_IN_SET } from './indexed-set.js'
import type { LockServices, Releasable } from './shared-by-all-acquisitions.js'
import { isWorthRetry, mayBeApplied, pause, untilAnswered } from './background-retry.js'
import { type CallLimit, OVER } from './call-deadline-or-abort.js'
import { HoldValidity } from './hold-validity.js'
import type { LockCall } from './lock-port-interface.js'
import { waiting } from './waiting-count.js'
import { circleError } from './owner-from-wire-format.js'

interface SetTerms {
  readonly list: readonly KeyModeArg[]
  readonly fencingKey: Uint8Array | null
  readonly lease: number
  readonly context: ContextArg
  readonly flow: FlowArg | undefined
  readonly renews: boolean
}

/**
 * over: the timeout, the signal or the close of the store has ended the call. broken: the set was granted,
 * and the hold of one of its keys has ended already.
 */
type Entered = 'held' | 'refused' | 'over' | 'broken'

const GIVE_BACK_TIMEOUT = 5_000
const RELEASE_TIMEOUT = 5_000
const PAUSE = 50
/**
 * How many times the request is sent again at most, if its answer leaves less than half of the lease.
 * Afterwards the set is used with the time that is left.
 */
const MOST_RENEWED = 2

const isHeld = (entered: Entered): boolean => entered === 'held'

/** One key of a set, in the form that `close` and `releaseAll` of the store need. */
class Member implements Releasable {
  index = NOT_IN_SET
  readonly ticket: { readonly key: Uint8Array; readonly id: string }
  validity: HoldValidity | undefined
  readonly #set: SetAcquisition

  constructor(set: SetAcquisition, key: Uint8Array) {
    this.#set = set
    this.ticket = { key, id: set.id }
  }

  revoke(why: LatchkeyError, released: Promise<boolean>): void {
    this.#set.revoked(released)
    this.validity?.revoke(why)
  }
}

/**
 * Laws:
 * - All keys or none: the set is held only while every key is held. If one key is lost, the client treats the
 *   whole set as lost, and releases the other keys.
 * - A repeated request with the same id keeps the holds that the set already has, and lengthens their leases.
 *   If the set waits, the repeated request keeps the places in the queues, and lengthens the time limit. So a
 *   request whose outcome is unknown can safely be sent again.
 * - The client does not release the holds and does not leave the queues while a request of the set can still
 *   be applied. Otherwise a late request could be applied after the release.
 */
export class SetAcquisition {
  readonly id: string
  readonly #services: LockServices
  readonly #terms: SetTerms
  readonly #lost: (error: LatchkeyError) => void
  readonly #members: readonly Member[]
  #mayStillApply: LockCall[] = []
  #released: Promise<boolean> | undefined
  #isOver = false
  #wake: () => void = () => {}
  #isWoken = false

  constructor(services: LockServices, terms: SetTerms, lost: (error: LatchkeyError) => void) {
    this.#services = services
    this.#terms = terms
    this.#lost = lost
    this.id = services.port.newId()
    this.#members = terms.list.map(([key]) => new Member(this, key))
  }

  /** The HoldValidity of each hold, in the order of the keys. The list is empty before the keys are held. */
  get validities(): readonly HoldValidity[] {
    return this.#members.map(({ validity }) => validity).filter((one) => one !== undefined)
  }

  enter(waits: boolean, limit: CallLimit): Promise<Entered> {
    const { observer } = this.#services.port
    if (!waits || observer?.isOn !== true) return this.#enter(waits, limit)
    const keys = this.#terms.list.map(([key]) => key)
    return observer.wait('lock_set', keys, isHeld, () => this.#enter(waits, limit))
  }

  async #enter(waits: boolean, limit: CallLimit): Promise<Entered> {
    const offs = waits ? this.#listen() : []
    for (const member of this.#members) this.#services.acquisitions.add(member)
    let entered: Entered | 'again' = 'broken'
    try {
      do entered = limit.end === undefined ? await this.#step(waits, limit) : 'over'
      while (entered === 'again')
      return entered
    } finally {
      for (const off of offs) off()
      if (entered === 'refused') this.#forget()
      else if (entered !== 'held') void this.giveBack()
    }
  }

  async #step(waits: boolean, limit: CallLimit): Promise<Entered | 'again'> {
    const { list, fencingKey, lease, context, flow } = this.#terms
    const { port } = this.#services
    this.#isWoken = false
    const wait = waits ? (limit.left() ?? 0) : null
    const ask = [OP.tryLockAll, this.id, list, fencingKey, lease, context, wait] as const
    const call = port.command(flow === undefined ? ask : [...ask, flow], limit)
    let result: TryLockAllResult
    try {
      result = (await call.result) as TryLockAllResult
    } catch (error) {
      return this.#failed(error, call, waits, limit)
    }
    const [state, owners, circle = []] = result
    if (state === 'circle') {
      const [[key] = [EMPTY]] = list
      throw circleError(circle, shownLockKey(key, port.decoding), port.decoding)
    }
    if (state === 'held') return this.#take(owners, waits, limit)
    if (state === 'queued')
      return (await waiting(port, limit.wait(this.#woken()))) === OVER ? 'over' : 'again'
    return state
  }

  async #failed(error: unknown, call: LockCall, waits: boolean, limit: CallLimit): Promise<'over' | 'again'> {
    if (mayBeApplied(error)) this.#mayStillApply.push(call)
    const { end } = limit
    if (!waits || end === 'aborted' || end === 'closed') throw error
    if (end === 'timeout') return 'over'
    if (!isWorthRetry(error) || (error as LatchkeyError).code === 'ERR_BUSY') throw error
    await pause(this.#services.port, PAUSE)
    return 'again'
  }

  #renewed = 0

  /**
   * Makes the holds of the set from an answer, which has one owner for each key. If less than half of the
   * lease is left, returns 'again': the request is sent again and renews all keys.
   */
  async #take(owners: readonly OwnerResult[], waits: boolean, limit: CallLimit): Promise<Entered | 'again'> {
    const { port, clusterTimeRefresh: boundRenewal, renewals, watchdog } = this.#services
    const { lease, renews, list } = this.#terms
    if (this.#released !== undefined || owners.length !== list.length) return 'broken'
    const now = port.clock.instant()
    const left = Math.min(...owners.map(([, deadline]) => port.bound.remaining(deadline, now)))
    if (left < lease / 2 && this.#renewed++ < MOST_RENEWED) return 'again'
    if (left === 0 && waits) {
      await limit.wait(pause(port, PAUSE))
      return 'again'
    }
    if (left === 0) return 'broken'
    owners.forEach(([id, deadline, , token], i) => {
      const member = this.#members[i] as Member
      const of = { key: member.ticket.key, id, lease, token, deadline }
      member.validity = new HoldValidity(port, boundRenewal, of, now, (error) => this.#lose(error))
    })
    for (const validity of this.validities) if (renews) watchdog.watch(renewals, validity)
    return 'held'
  }

  /** Listens for pushed grants. Called before the first request, so that no grant is missed. */
  #listen(): (() => void)[] {
    const { port } = this.#services
    const wake = () => {
      this.#isWoken = true
      this.#wake()
    }
    const granted = this.#terms.list.map(([key]) => port.onGranted(key, this.id, wake))
    return [...granted, port.onAttached(wake)]
  }

  #woken(): Promise<void> {
    if (this.#isWoken) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /**
   * Ends a wait for the set. Called when the store releases all its holds with one request. `released`
   * resolves to true if that request was answered.
   */
  revoked(released: Promise<boolean>): void {
    this.#released = released
    this.#wake()
  }

  #lose(error: LatchkeyError): void {
    if (this.#isOver) return
    this.#endPromise()
    this.#lost(error)
    void this.giveBack()
  }

  #endPromise(): void {
    this.#isOver = true
    for (const validity of this.validities) {
      this.#services.renewals.remove(validity)
      validity.releasing()
    }
  }

  /** Resolves when the cluster has released all locks of the set. Does nothing after a loss. */
  async release(): Promise<void> {
    if (this.#isOver) return
    this.#endPromise()
    const { port } = this.#services
    if (port.closed.aborted) return
    const call = port.command([OP.releaseAll, this.#tickets()], { timeout: RELEASE_TIMEOUT })
    try {
      await call.result
    } catch (error) {
      if (mayBeApplied(error)) this.#mayStillApply.push(call)
      void this.giveBack()
      throw error
    }
    for (const validity of this.validities) validity.end()
    this.#forget()
  }

  async giveBack(): Promise<void> {
    const { port } = this.#services
    if (!(await this.#released)) {
      try {
        await Promise.all(this.#mayStillApply.map((call) => call.whenFinal()))
      } catch {
        return // The store is closed. What is left in the store ends with its session or its lease.
      }
      const ask = () => port.command([OP.releaseAll, this.#tickets()], { timeout: GIVE_BACK_TIMEOUT }).result
      await untilAnswered(port, ask, () => false)
    }
    this.#forget()
  }

  #forget(): void {
    for (const member of this.#members) this.#services.acquisitions.delete(member)
  }

  #tickets(): TicketArg[] {
    return this.#members.map(({ ticket: { key, id } }): TicketArg => [key, id])
  }
}
