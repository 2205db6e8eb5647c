// Driver: owns the renewals of all holds of one store. One timer serves all renewals, and one request carries
// all renewals that are due together.

import { elementAt, type Timer } from '@latchkey/base'
import { OP, type OwnerResult, type RenewalArg, type RenewResult, renewedOwners } from '@latchkey/protocol'
import { IndexedSet, NOT_IN_SET } from './indexed-set.js'
import type { CallLimit } from './call-deadline-or-abort.js'
import { isSuccess } from './owner-from-wire-format.js'
import type { LockPort } from './lock-port-interface.js'
import { MOST_TRIES, RoundTrip, patienceOf, pauseOf, renewAfter } from './renewal-times.js'
import { isWorthRetry } from './background-retry.js'
import { splitRequests } from './split-request-by-command-limits.js'
import type { Renewal, RenewedHold, HoldValidity, Try } from './hold-validity.js'

/**
 * As a fraction of the lease: a renewal that is due within this time is sent early, together with a renewal
 * that is due now.
 */
const TOGETHER = 1 / 20

/**
 * Laws:
 * - A renewal is due 2/3 of the lease after the last success, or sooner if the last third of the lease is too
 *   short for two attempts or for a change of leader (renewal-times.ts). The lease is counted from the
 *   earliest moment at which the cluster can have executed the request that succeeded. So a renewal may come
 *   too early, but never too late.
 * - Each answer counts, at any time and in any order. The next attempt is sent while earlier attempts are
 *   unanswered. So no hold is lost even if a round trip takes most of the lease.
 * - A refusal, or the clocks of HoldValidity, can end a hold. An attempt that failed or was never answered
 *   ends no hold.
 * - At most MOST_TRIES attempts for one hold are under way. While no member can be reached, the last attempt
 *   waits in this process, and no further attempt is added.
 * - A hold that was removed is not renewed any more, and a late answer for it changes nothing.
 */
export class Renewals {
  readonly #port: LockPort
  readonly #renewals = new IndexedSet<Renewal>()
  readonly #roundTrip = new RoundTrip()
  #timer: Timer | undefined
  #armedFor = Number.POSITIVE_INFINITY

  constructor(port: LockPort) {
    this.#port = port
  }

  get closed(): boolean {
    return this.#port.closed.aborted
  }

  /**
   * Begins to renew the hold, for the watchdog `by`. A hold that is already being renewed gets a new time for
   * its next renewal.
   */
  add(validity: HoldValidity, by: object): void {
    this.#roundTrip.took(validity.age())
    validity.renewal ??= newRenewal(validity, validity)
    const { renewal } = validity
    renewal.validity = validity
    renewal.by = by
    renewal.at = this.#dueAt(validity, renewal)
    this.#renewals.add(renewal)
    if (renewal.at < this.#armedFor) this.#arm(renewal.at)
  }

  remove(validity: HoldValidity): void {
    if (validity.renewal !== undefined) this.#drop(validity.renewal)
    validity.renewal = undefined
  }

  stop(by: object): void {
    this.#renewals.forEach((renewal) => {
      if (renewal.by === by && renewal.validity !== undefined) this.remove(renewal.validity)
    })
  }

  /**
   * Sends renewals of a hold that may be in force, until a member answers.
   *
   * Afterwards the caller must call `adopt` with the HoldValidity that it makes from the answer, or `discard`
   * if the caller makes no HoldValidity. Renewals that are still under way also prolong the adopted
   * HoldValidity.
   */
  confirm(
    of: RenewedHold,
    limit: CallLimit,
  ): { readonly renewal: Renewal; readonly answer: Promise<Confirmed> } {
    const renewal = newRenewal(of, undefined)
    renewal.until = this.#port.clock.now() + of.lease
    const answer = new Promise<OwnerResult | undefined>((resolve) => {
      renewal.confirmed = resolve
    })
    this.#renewals.add(renewal)
    this.#fire()
    return {
      renewal,
      answer: limit.wait(answer).then((owner) => (typeof owner === 'symbol' ? undefined : owner)),
    }
  }

  adopt(renewal: Renewal, validity: HoldValidity): void {
    renewal.validity = validity
    validity.renewal = renewal
  }

  discard(renewal: Renewal): void {
    this.#drop(renewal)
  }

  #drop(renewal: Renewal): void {
    this.#renewals.delete(renewal)
    if (this.#renewals.size === 0) this.#disarm()
  }

  #arm(at: number): void {
    this.#disarm()
    this.#armedFor = at
    this.#timer = this.#port.clock.after(at - this.#port.clock.now(), this.#fire, { ref: false })
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#armedFor = Number.POSITIVE_INFINITY
  }

  #fire = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY
    const now = this.#port.clock.now()
    const due: Renewal[] = []
    let anyDue = false
    this.#renewals.forEach((renewal) => {
      if (!this.#isWanted(renewal, now)) return
      if (renewal.at > now + renewal.of.lease * TOGETHER) return
      anyDue ||= renewal.at <= now
      if (mayTry(renewal)) due.push(renewal)
      else if (renewal.at <= now) renewal.at = now + pauseOf(renewal.of.lease)
    })
    if (anyDue && !this.closed) for (const part of splitRequests(due, ({ of }) => of)) this.#try(part, now)
    this.#rearm()
  }

  /**
   * Whether the hold should still be renewed. The event loop may have been blocked, so the clocks decide: a
   * hold whose time is over is not renewed.
   */
  #isWanted(renewal: Renewal, now: number): boolean {
    const { validity, confirmed } = renewal
    if (validity !== undefined) {
      if (!validity.held) this.remove(validity)
      return renewal.index !== NOT_IN_SET
    }
    if (confirmed === undefined || now <= renewal.until) return true
    this.#drop(renewal)
    confirmed(undefined)
    return false
  }

  #rearm(): void {
    let next = Number.POSITIVE_INFINITY
    this.#renewals.forEach(({ at }) => {
      next = Math.min(next, at)
    })
    if (next < this.#armedFor && !this.closed) this.#arm(next)
  }

  #try(renewals: readonly Renewal[], now: number): void {
    const list = renewals.map(item)
    let patience = 0
    for (const { of } of renewals) patience = Math.max(patience, patienceOf(of.lease))
    const call = this.#port.command([OP.renew, list], { due: now + patience })
    const one: Try = { call, over: false }
    for (const renewal of renewals) {
      renewal.at = now + pauseOf(renewal.of.lease)
      renewal.triedAt = now
      renewal.last = one
      renewal.tries++
    }
    call.result.then(
      (result) => this.#answered(renewals, one, renewedOwners(list, result as RenewResult), now),
      (error: unknown) => this.#failed(renewals, one, error),
    )
  }

  #answered(renewals: readonly Renewal[], one: Try, owners: readonly OwnerResult[], sentAt: number): void {
    one.over = true
    this.#roundTrip.took(this.#port.clock.now() - sentAt)
    renewals.forEach((renewal, i) => {
      renewal.tries--
      if (renewal.index !== NOT_IN_SET) this.#decide(renewal, elementAt(owners, i))
    })
    this.#rearm()
  }

  #failed(renewals: readonly Renewal[], one: Try, error: unknown): void {
    one.over = true
    for (const renewal of renewals) {
      renewal.tries--
      if (renewal.confirmed === undefined || isWorthRetry(error)) continue
      this.#drop(renewal)
      confirm(renewal, undefined)
    }
  }

  #decide(renewal: Renewal, owner: OwnerResult): void {
    const { validity } = renewal
    if (validity === undefined) return confirm(renewal, owner)
    if (!isSuccess(owner)) {
      this.remove(validity)
      return validity.lose('its renewal was refused, because another holds it or nobody does')
    }
    // The answer to a rotation may have been lost. The answer to a renewal also has the present token.
    validity.rotated(owner[3])
    validity.prolong(owner[1])
    // `prolong` removes the renewal if the clocks show that the hold is over. Then there is no next attempt.
    if (validity.renewal === renewal) renewal.at = this.#dueAt(validity, renewal)
  }

  #dueAt(validity: HoldValidity, { triedAt }: Renewal): number {
    const { lease } = validity
    const after = renewAfter(lease, this.#roundTrip.expected, this.#port.electionTimeout())
    const due = this.#port.clock.now() + after - validity.age()
    return Math.max(triedAt + pauseOf(lease), due)
  }
}

/**
 * The answer that Renewals.confirm has received. Undefined if no member has answered before the lease or the
 * limit of the call ended.
 */
export type Confirmed = OwnerResult | undefined

function confirm(renewal: Renewal, owner: Confirmed): void {
  const { confirmed } = renewal
  renewal.confirmed = undefined
  confirmed?.(owner)
}

function newRenewal(of: RenewedHold, validity: HoldValidity | undefined): Renewal {
  return {
    index: NOT_IN_SET,
    of,
    validity,
    by: undefined,
    at: Number.NEGATIVE_INFINITY,
    triedAt: Number.NEGATIVE_INFINITY,
    until: Number.POSITIVE_INFINITY,
    last: undefined,
    tries: 0,
    confirmed: undefined,
  }
}

/**
 * Whether another attempt may be sent. The last attempt must be over, or must have left this process.
 * Otherwise the two attempts would be sent at the same time, and the second attempt would be useless.
 */
const mayTry = ({ last, tries }: Renewal): boolean =>
  tries < MOST_TRIES && (last === undefined || last.over || last.call.sent)

const item = ({ of }: Renewal): RenewalArg => [of.key, of.id, of.token, of.lease]
