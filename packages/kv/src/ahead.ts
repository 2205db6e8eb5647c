// Driver: owns the keys of reads that wait for their round, until their rows are looked up (state/rows-ahead.ts): once all has been
// sent that the round waits for. It is a hint: what fails here the read itself will meet.

import { READ, type Read } from '@latchkey/protocol'
import type { State } from './state/state.js'

export class Ahead {
  readonly #later: ((run: () => void) => void) | undefined
  readonly #state: () => State
  #keys: Uint8Array[] = []

  /** `later`: runs it behind what leaves in this turn. Without it nothing is looked up ahead. */
  constructor(later: ((run: () => void) => void) | undefined, state: () => State) {
    this.#later = later
    this.#state = state
  }

  expect(read: Read): void {
    if (this.#later === undefined) return
    if (read[0] !== READ.get && read[0] !== READ.getEntry && read[0] !== READ.contains) return
    if (this.#keys.push(read[1]) === 1) this.#later(this.#look)
  }

  readonly #look = (): void => {
    const keys = this.#keys
    this.#keys = []
    try {
      this.#state().data.lookAhead(keys)
    } catch {
      // Told to whoever reads it.
    }
  }
}
