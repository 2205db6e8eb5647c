// Driver: remembers with which lease each hold was acquired at this member, so that a renewal need not repeat
// the lease. This file keeps at most MOST leases and forgets the oldest lease. If the lease of a hold is
// unknown, its renewal uses DEFAULT.

import { binary } from '@latchkey/base'

/** How many leases the member remembers. */
const MOST = 100_000
/** In ms. The lease of a renewal if the lease of its hold is unknown. */
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

/** Without the length of the key, key 'a' with id 'bc' and key 'ab' with id 'c' would have the same name. */
export const holdName = (key: Uint8Array, id: string) => `${key.length}:${binary(key)}${id}`
