// Driver: prefetches rows from the disk, for reads and puts that still wait for the network or for the log.
// The rows are read at the end of a turn of the event loop, after the turn's messages are sent
// (state/prefetched-rows.ts).

import { READ, type Read } from '@latchkey/protocol'
import { plainKeyAt, plainKeyEnd } from './commands/plain-put-parser.js'
import type { State } from './state/store-state.js'

export class RowPrefetch {
  readonly #later: ((run: () => void) => void) | undefined
  readonly #state: () => State
  #keys: Uint8Array[] = []

  /**
   * `later` calls a function at the end of this turn of the event loop. If `later` is undefined, nothing is
   * prefetched.
   */
  constructor(later: ((run: () => void) => void) | undefined, state: () => State) {
    this.#later = later
    this.#state = state
  }

  expect(read: Read): void {
    if (read[0] === READ.get || read[0] === READ.getEntry || read[0] === READ.contains)
      this.#expectKey(read[1])
  }

  /**
   * Prefetches the present row of the key of a plain put (plain-put-parser.ts). `body` is the encoded put.
   */
  expectPut(body: Uint8Array): void {
    this.#expectKey(body.subarray(plainKeyAt(0), plainKeyEnd(body, 0)))
  }

  #expectKey(key: Uint8Array): void {
    if (this.#later !== undefined && this.#keys.push(key) === 1) this.#later(this.#prefetch)
  }

  readonly #prefetch = (): void => {
    const keys = this.#keys
    this.#keys = []
    try {
      this.#state().data.prefetch(keys)
    } catch {
      // The read or put that needs the row will meet the same error.
    }
  }
}
