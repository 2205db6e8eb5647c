// Driver: remembers the lease with which each hold was acquired here, so that a renewal need not repeat it.
// The oldest entries are forgotten beyond a limit. A renewal of a hold that was acquired at another member
// takes the default lease.

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

/** The length keeps the pairs 'a', 'bc' and 'ab', 'c' apart. */
export const holdName = (key: Uint8Array, id: string) => `${key.length}:${binary(key)}${id}`
