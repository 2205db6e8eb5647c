// Driver: owns the takes of one client that are still under way to some master.
//
// Law (EN5): what a master grants after its caller has given up, or has released, is given back at once. A
// master's answer may come long after the others have decided, and a release that is sent meanwhile may
// overtake the take. Without this law: that vote is kept for a lease by an id that nobody uses, and with one
// master down nobody else gets a majority.
// Law (EN1): each attempt uses a name of its own at the masters. Without this law: a waiter asks again while
// the votes of its last attempt are being given back. The late return of an old vote takes a new vote away,
// so that another caller gets a majority at the same time.

import { binary, newId } from '@latchkey/base'

export interface Attempt {
  /** The name under which the masters know it. */
  readonly vote: string
  /** True if its caller does not want it any more. */
  isOver: boolean
  /** Called once for each master, when its answer has come or never will. */
  settled(): void
}

export class Attempts {
  readonly #open = new Map<string, Set<Attempt>>()

  /** `vote` is the name of the hold that the caller has already. */
  begin(key: Uint8Array, id: string, masters: number, vote = newId()): Attempt {
    const name = nameOf(key, id)
    const same = this.#open.get(name) ?? new Set()
    this.#open.set(name, same)
    let left = masters
    const attempt: Attempt = {
      vote,
      isOver: false,
      settled: () => {
        if (--left > 0) return
        same.delete(attempt)
        if (same.size === 0 && this.#open.get(name) === same) this.#open.delete(name)
      },
    }
    same.add(attempt)
    return attempt
  }

  /** Ends the attempts of that caller. Returns the names that some master may know. */
  end(key: Uint8Array, id: string): string[] {
    const open = [...(this.#open.get(nameOf(key, id)) ?? [])]
    for (const attempt of open) attempt.isOver = true
    return open.map(({ vote }) => vote)
  }
}

export const nameOf = (key: Uint8Array, id: string): string => `${id}/${binary(key)}`
