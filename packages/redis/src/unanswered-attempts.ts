// Driver: owns the attempts of one client whose take requests some masters have not answered yet.
//
// Law: a grant that arrives after its caller has given up, or has released, is given back immediately (EN5).
// A master may answer long after the other masters have decided, and a release may overtake the take request.
// Without this law: a master keeps its vote for an unused id for a whole lease. If another master is down, no
// other caller gets a majority.
//
// Law: each attempt of a caller without a hold uses a new vote id at the masters (EN1). Without this law: a
// waiter tries again under the same id, while the votes of its last attempt are still being given back. The
// late return of an old vote removes a new vote. A second caller then gets a majority while the first caller
// still holds the lock.

import { binary, newId } from '@latchkey/base'

export interface Attempt {
  /** The id under which the masters know this attempt. */
  readonly vote: string
  /** True if the caller does not need the grant any more. */
  isOver: boolean
  /** Called once for each master, when the master has answered or its call has failed. */
  answered(): void
}

export class Attempts {
  readonly #open = new Map<string, Set<Attempt>>()

  /** If the caller already has a hold, `vote` is the vote id of that hold. */
  begin(key: Uint8Array, id: string, masters: number, vote = newId()): Attempt {
    const name = nameOf(key, id)
    const same = this.#open.get(name) ?? new Set()
    this.#open.set(name, same)
    let left = masters
    const attempt: Attempt = {
      vote,
      isOver: false,
      answered: () => {
        if (--left > 0) return
        same.delete(attempt)
        if (same.size === 0 && this.#open.get(name) === same) this.#open.delete(name)
      },
    }
    same.add(attempt)
    return attempt
  }

  /**
   * Marks the open attempts of caller `id` at the key as over. Returns their vote ids, because some masters
   * may have granted a vote under these ids, or may still grant one.
   */
  end(key: Uint8Array, id: string): string[] {
    const open = [...(this.#open.get(nameOf(key, id)) ?? [])]
    for (const attempt of open) attempt.isOver = true
    return open.map(({ vote }) => vote)
  }
}

export const nameOf = (key: Uint8Array, id: string): string => `${id}/${binary(key)}`
