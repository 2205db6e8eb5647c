// Rule: why each address could not be used when it was tried last, as the errors of callers tell it.
//
// Law (C49): an error that ends a wait for members names each address that was tried, with the reason seen there last. The story without it: all
// certificates have expired, every call ends with ERR_NO_LEADER, and the operator looks for members that do not run.

import { shortText } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'

/** An error names at most so many addresses, and so many are remembered. */
const MOST = 8

export class FailedAddresses {
  readonly #reasons = new Map<string, string>()

  failed(url: string | undefined, error: unknown): void {
    // A dial that was given up says nothing about its address.
    if (url === undefined || !(error instanceof Error) || isLatchkeyError(error, 'ERR_CLOSED')) return
    this.#reasons.delete(url)
    this.#reasons.set(url, error.message)
    const [oldest] = this.#reasons.keys()
    if (this.#reasons.size > MOST && oldest !== undefined) this.#reasons.delete(oldest)
  }

  reached(url: string | undefined): void {
    if (url !== undefined) this.#reasons.delete(url)
  }

  /** One sentence or more; undefined: none has failed. */
  describe(): string | undefined {
    const told = [...this.#reasons].map(([url, reason]) =>
      shortText(reason.includes(url) ? reason : `${url}: ${reason}`),
    )
    return told.length === 0 ? undefined : told.join(' ')
  }
}
