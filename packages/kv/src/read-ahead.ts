// Driver: reads rows from the disk for reads and puts that still wait for the network or for the log. The
// rows are read (state/prefetched-rows.ts) after everything was sent in this turn of the event loop. Errors
// are ignored here, because the read or put meets the same error when it needs the row.

import { READ, type Read } from '@latchkey/protocol'
import { plainKeyAt, plainKeyEnd } from './commands/plain-put.js'
import type { State } from './state/store-state.js'

export class ReadAhead {
  readonly #later: ((run: () => void) => void) | undefined
  readonly #state: () => State
  #keys: Uint8Array[] = []

  /**
   * `later` runs a function after everything that is sent in this turn of the event loop. If `later` is
   * undefined, nothing is read ahead.
   */
  constructor(later: ((run: () => void) => void) | undefined, state: () => State) {
    this.#later = later
    this.#state = state
  }

  expect(read: Read): void {
    if (read[0] === READ.get || read[0] === READ.getEntry || read[0] === READ.contains)
      this.#expectKey(read[1])
  }

  /** `body` is a plain put. When the put is applied, it needs the former row of its key. */
  expectPut(body: Uint8Array): void {
    this.#expectKey(body.subarray(plainKeyAt(0), plainKeyEnd(body, 0)))
  }

  #expectKey(key: Uint8Array): void {
    if (this.#later !== undefined && this.#keys.push(key) === 1) this.#later(this.#look)
  }

  readonly #look = (): void => {
    const keys = this.#keys
    this.#keys = []
    try {
      this.#state().data.lookAhead(keys)
    } catch {
      // The error is not lost: the read or put that needs the row meets the same error.
    }
  }
}
