// Driver: owns the keys of reads that wait for their round and of puts that wait for the disks, until their rows are looked up
// (state/rows-ahead.ts): once all has been sent that they wait for. It is a hint: what fails here whoever needs the row will meet.

import { READ, type Read } from '@latchkey/protocol'
import { plainKeyAt, plainKeyEnd } from './commands/plain-put.js'
import type { State } from './state/state.js'

export class ReadAhead {
  readonly #later: ((run: () => void) => void) | undefined
  readonly #state: () => State
  #keys: Uint8Array[] = []

  /** `later`: runs it behind what leaves in this turn. Without it nothing is looked up ahead. */
  constructor(later: ((run: () => void) => void) | undefined, state: () => State) {
    this.#later = later
    this.#state = state
  }

  expect(read: Read): void {
    if (read[0] === READ.get || read[0] === READ.getEntry || read[0] === READ.contains)
      this.#expectKey(read[1])
  }

  /** `body`: a plain put, which has to know what was there before. */
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
      // Told to whoever needs it.
    }
  }
}
