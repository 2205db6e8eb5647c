// Driver: counts the holds and waiters of each kind of lock, in memory, for metrics.
//
// Law: `held` counts a hold from the entry that grants it to the entry that ends it, even if its row is kept
// for longer. Without this law: an operator searches for a stuck semaphore, and sees permits in use that are
// free.
//
// Law: a metric has one value for each kind of lock, so a million locks make no more metrics than one lock.

import { KIND, kindOfLockKey } from '@latchkey/protocol'

interface Counted {
  readonly key: Uint8Array
  readonly permits: number
}

/** The kinds of KIND in their order, then shared holds of locks. The counts below are lists in this order. */
export const COUNTED_KINDS = ['lock', 'semaphore', 'election', 'web_lock', 'shared_lock'] as const
type CountedKind = (typeof COUNTED_KINDS)[number]
const SHARED_LOCK = COUNTED_KINDS.length - 1

export function kindIndexOf({ key, permits }: Counted): number {
  const kind = kindOfLockKey(key)
  return kind === KIND.lock && permits > 0 ? SHARED_LOCK : kind
}

export type CountsByKind = Readonly<Record<CountedKind, number>>

const zeros = (): number[] => COUNTED_KINDS.map(() => 0)
export const byKind = (list: readonly number[]): CountsByKind =>
  Object.fromEntries(COUNTED_KINDS.map((kind, at) => [kind, list[at]])) as CountsByKind

export interface LockFigures {
  readonly held: CountsByKind
  readonly waiting: CountsByKind
  /**
   * How many holds were granted, and how many expired, since the member opened this state. Installing a
   * snapshot opens another state.
   */
  readonly granted: CountsByKind
  readonly expired: CountsByKind
  readonly taken: CountsByKind
  readonly permits: number
}

export class LockCounts {
  readonly #held = zeros()
  readonly #waiting = zeros()
  readonly #granted = zeros()
  readonly #expired = zeros()
  readonly #taken = zeros()
  #permits = 0

  held(row: Counted, by: 1 | -1): void {
    const index = kindIndexOf(row)
    this.#held[index] = (this.#held[index] as number) + by
    if (index === KIND.semaphore) this.#permits += by * row.permits
  }

  waiting(row: Counted, by: 1 | -1): void {
    add(this.#waiting, row, by)
  }

  granted(row: Counted): void {
    add(this.#granted, row, 1)
  }

  expired(row: Counted): void {
    add(this.#expired, row, 1)
  }

  taken(row: Counted): void {
    add(this.#taken, row, 1)
  }

  get figures(): LockFigures {
    return {
      held: byKind(this.#held),
      waiting: byKind(this.#waiting),
      granted: byKind(this.#granted),
      expired: byKind(this.#expired),
      taken: byKind(this.#taken),
      permits: this.#permits,
    }
  }
}

function add(list: number[], row: Counted, by: 1 | -1): void {
  const index = kindIndexOf(row)
  list[index] = (list[index] as number) + by
}
