// Driver: owns the renewals of one store's watched holds: one timer, and one request for all that fall due together.

import type { Timer } from '@latchkey/base'
import {
  CAPS,
  OP,
  type OwnerResult,
  type RenewalArg,
  type RenewResult,
  renewedOwners,
} from '@latchkey/protocol'
import { Crowd, NOWHERE, type Placed } from './crowd.js'
import { isSuccess } from './owner.js'
import type { LockPort } from './port.js'
import type { Renewal, Tenure } from './tenure.js'

/** Those due within this part of their lease go along with the one that is due. */
const TOGETHER = 1 / 20
/** Tries that fit into the last third, the first one not counted. */
const RETRIES = 4
const SHORTEST_PAUSE = 5
const LONGEST_PAUSE = 5_000
const ITEM_BYTES = 64

/**
 * Laws:
 * - Due at 2/3 of the lease after the last success, counted from its entry by the bound: which may be too early, never too late.
 * - A failed or unanswered renewal is tried again within the last third; only a definite refusal or the tenure's own clock ends it.
 * - What was removed gets no renewal any more, and an answer that comes for it changes nothing.
 */
export class Renewals implements Placed {
  /** Among those of its watchdog that renew something. */
  place = NOWHERE
  readonly #port: LockPort
  readonly #renewals = new Crowd<Renewal>()
  #timer: Timer | undefined
  #armedFor = Number.POSITIVE_INFINITY

  constructor(port: LockPort) {
    this.#port = port
  }

  get size(): number {
    return this.#renewals.size
  }

  /** From now on; one that is there already is planned anew. */
  add(tenure: Tenure): void {
    const at = dueAt(tenure, this.#port.clock.now())
    tenure.renewal ??= { place: NOWHERE, tenure, at }
    tenure.renewal.at = at
    this.#renewals.add(tenure.renewal)
    if (at < this.#armedFor) this.#arm(at)
  }

  remove(tenure: Tenure): void {
    if (tenure.renewal !== undefined) this.#renewals.delete(tenure.renewal)
    tenure.renewal = undefined
    if (this.size === 0) this.#disarm()
  }

  stop(): void {
    this.#renewals.forEach(({ tenure }) => this.remove(tenure))
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
    const due: Tenure[] = []
    let anyDue = false
    this.#renewals.forEach(({ tenure, at }) => {
      // After a stall the clocks decide, not this timer: what is lost is not renewed.
      if (!tenure.held) this.remove(tenure)
      else if (at <= now + tenure.lease * TOGETHER) due.push(tenure)
      anyDue ||= at <= now
    })
    if (anyDue && !this.#port.closed.aborted) for (const part of inRequests(due)) void this.#renew(part, now)
    this.#rearm()
  }

  #rearm(): void {
    let next = Number.POSITIVE_INFINITY
    this.#renewals.forEach(({ at }) => {
      next = Math.min(next, at)
    })
    if (next < this.#armedFor && !this.#port.closed.aborted) this.#arm(next)
  }

  async #renew(tenures: readonly Tenure[], now: number): Promise<void> {
    const pause = shortestPause(tenures)
    // The next try is planned before this one is sent: no answer is needed for it.
    for (const { renewal } of tenures) if (renewal !== undefined) renewal.at = now + pause
    const list = tenures.map(item)
    let owners: readonly OwnerResult[]
    try {
      const call = this.#port.command([OP.renew, list], { timeout: pause })
      owners = renewedOwners(list, (await call.result) as RenewResult)
    } catch {
      return
    }
    tenures.forEach((tenure, i) => this.#answered(tenure, owners[i] as OwnerResult))
    this.#rearm()
  }

  #answered(tenure: Tenure, owner: OwnerResult): void {
    if (tenure.renewal === undefined) return
    if (!isSuccess(owner)) {
      this.remove(tenure)
      return tenure.lose('its renewal was refused, for another holds it or nobody does')
    }
    tenure.prolong(owner[1])
    // It may have been over all the same: then nobody renews it any more.
    const now = this.#port.clock.now()
    if (tenure.renewal) tenure.renewal.at = Math.max(now + SHORTEST_PAUSE, dueAt(tenure, now))
  }
}

function dueAt(tenure: Tenure, now: number): number {
  return now + (tenure.lease * 2) / 3 - tenure.age()
}

function shortestPause(tenures: readonly Tenure[]): number {
  const lease = Math.min(...tenures.map((tenure) => tenure.lease))
  return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, Math.floor(lease / 3 / RETRIES)))
}

const item = (tenure: Tenure): RenewalArg => [tenure.key, tenure.id, tenure.token, tenure.lease]

/** One request for all; more than one only where a command's cap asks for it. */
function inRequests(tenures: readonly Tenure[]): Tenure[][] {
  const requests: Tenure[][] = []
  let room = 0
  for (const tenure of tenures) {
    const size = tenure.key.length + tenure.id.length + ITEM_BYTES
    if (size > room) {
      requests.push([])
      room = CAPS.commandBytes / 2
    }
    requests.at(-1)?.push(tenure)
    room -= size
  }
  return requests
}
