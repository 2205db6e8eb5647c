// Driver: remembers the lease with which each hold was acquired at this member, so that a renewal need not
// repeat the lease. Beyond a limit, the oldest leases are forgotten. The renewal of a forgotten hold, or of a
// hold from another member, uses the default lease.

import { binary } from '@latchkey/base'

const MOST = 100_000
const DEFAULT = 10_000

export class Leases {
  #leases = new Map<string, number>()

  set(key: Uint8Array, id: string, lease: number): void {
    const name = holdName(key, id)
    this.#leases.delete(name)
    this.#leases.set(name, lease)
    if (this.#leases.size <= MOST) return
    const [oldest] = this.#leases.keys()
    if (oldest !== undefined) this.#leases.delete(oldest)
  }

  get(key: Uint8Array, id: string): number {
    return this.#leases.get(holdName(key, id)) ?? DEFAULT
  }

  delete(key: Uint8Array, id: string): void {
    this.#leases.delete(holdName(key, id))
  }
}

/**
 * Returns one name for a key and an id. The length of the key distinguishes, for example, 'a' with 'bc' from
 * 'ab' with 'c'.
 */
export const holdName = (key: Uint8Array, id: string) => `${key.length}:${binary(key)}${id}`
