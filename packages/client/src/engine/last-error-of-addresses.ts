// Rule: remembers the last error of each address that could not be used, for the errors that callers get.
//
// Law (C49): an error that ends a wait for members names each address that was tried, with the last reason
// why it failed. Without this law: all certificates have expired, every call ends with ERR_NO_LEADER, and the
// operator searches for members that do not run.

import { shortText } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'

/** How many failed addresses are remembered, and named in an error. A further address replaces the oldest. */
const MOST = 8

export class FailedAddresses {
  readonly #reasons = new Map<string, string>()

  failed(url: string | undefined, error: unknown): void {
    // A store that dials its own member gives no address. With ERR_CLOSED the store itself has ended the
    // attempt. In both cases the error says nothing about an address.
    if (url === undefined || !(error instanceof Error) || isLatchkeyError(error, 'ERR_CLOSED')) return
    this.#reasons.delete(url)
    this.#reasons.set(url, error.message)
    const [oldest] = this.#reasons.keys()
    if (this.#reasons.size > MOST && oldest !== undefined) this.#reasons.delete(oldest)
  }

  reached(url: string | undefined): void {
    if (url !== undefined) this.#reasons.delete(url)
  }

  describe(): string | undefined {
    const told = [...this.#reasons].map(([url, reason]) =>
      shortText(reason.includes(url) ? reason : `${url}: ${reason}`),
    )
    return told.length === 0 ? undefined : told.join(' ')
  }
}
