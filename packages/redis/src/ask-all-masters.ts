// Driver: makes one call to all masters at the same time, and counts their answers.

import { mayHaveArrived, notReached } from '@latchkey/lock'
import { isLatchkeyError, type LatchkeyError } from '@latchkey/protocol'

export class Votes<T> {
  readonly of: number
  readonly answers: T[] = []
  readonly errors: unknown[] = []

  constructor(of: number) {
    this.of = of
  }

  get quorum(): number {
    return Math.floor(this.of / 2) + 1
  }

  count(isFor: (answer: T) => boolean): number {
    return this.answers.filter(isFor).length
  }

  has(isFor: (answer: T) => boolean): boolean {
    return this.count(isFor) >= this.quorum
  }

  /** True if so many answers fail the test `isFor` that a majority can no longer pass the test. */
  lacks(isFor: (answer: T) => boolean): boolean {
    return this.answers.length - this.count(isFor) > this.of - this.quorum
  }

  failure(): LatchkeyError {
    const unknown = this.errors.find((error) => !isLatchkeyError(error) || error.outcome === 'unknown')
    if (unknown !== undefined) return mayHaveArrived(unknown)
    const refused = this.errors.find((error) => isLatchkeyError(error) && error.code === 'ERR_FORBIDDEN')
    return refused === undefined ? notReached(this.errors[0]) : (refused as LatchkeyError)
  }
}

/** Resolves when `isDecided` returns true, or when all masters have answered or failed. */
export function vote<M, T>(
  masters: readonly M[],
  ask: (master: M) => Promise<T>,
  isDecided: (votes: Votes<T>) => boolean,
): Promise<Votes<T>> {
  const votes = new Votes<T>(masters.length)
  return new Promise((resolve) => {
    const look = () => {
      if (votes.answers.length + votes.errors.length === masters.length || isDecided(votes)) resolve(votes)
    }
    for (const master of masters)
      ask(master).then(
        (answer) => {
          votes.answers.push(answer)
          look()
        },
        (error: unknown) => {
          votes.errors.push(error)
          look()
        },
      )
  })
}
