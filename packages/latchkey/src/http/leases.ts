// Driver: remembers with which lease a hold was acquired here, so that a renewal need not say it again. Capped: the oldest are
// forgotten, and a renewal that was never seen here (another member's) takes the default.

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

/** The length keeps 'a' + 'bc' and 'ab' + 'c' apart. */
export const holdName = (key: Uint8Array, id: string) => `${key.length}:${binary(key)}${id}`
