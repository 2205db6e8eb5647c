// Driver: keeps the shared holds of one lock or semaphore, in the order of their grants, with the sum of
// their permits.

import type { HoldRow, SharedHolds } from '@latchkey/lock'
import { assert } from '@latchkey/base'

interface WithRow {
  readonly row: HoldRow
}

/**
 * The holds of one key. No operation loops over all holds, so an operation takes the same time for any number
 * of holds.
 *
 * Two holds of one key have the same token only if callers use different fencing keys for one lock, because
 * each fencing key has its own counter of tokens. docs/locks.md forbids such calls. A look-up by this token
 * then finds only one of the two holds, and guarded writes of the other hold are refused.
 */
export class SharedHoldsOf<T extends WithRow> implements SharedHolds {
  permits = 0
  /** A Map keeps the order of insertion, which is the order of arrival. */
  readonly #byId = new Map<string, T>()
  readonly #byToken = new Map<number, T>()

  get first(): HoldRow {
    const { value } = this.#byId.values().next()
    assert(value !== undefined, 'a lock without shared holds has no list of them')
    return value.row
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0
  }

  get(id: string): T | undefined {
    return this.#byId.get(id)
  }

  withToken(token: number): T | undefined {
    return this.#byToken.get(token)
  }

  values(): Iterable<T> {
    return this.#byId.values()
  }

  add(hold: T): void {
    this.#byId.set(hold.row.id, hold)
    this.#byToken.set(hold.row.token, hold)
    this.permits += hold.row.permits
  }

  /** Called after the hold has got a new token. `before` is the former token. */
  rotated(hold: T, before: number): void {
    if (this.#byToken.get(before) === hold) this.#byToken.delete(before)
    this.#byToken.set(hold.row.token, hold)
  }

  remove(hold: T): void {
    this.#byId.delete(hold.row.id)
    if (this.#byToken.get(hold.row.token) === hold) this.#byToken.delete(hold.row.token)
    this.permits -= hold.row.permits
  }
}
