// Driver: members compare what they hold. At rest all stand behind the same entry; each then tells the others the hashes of its
// key spaces, once for each such place. A difference is a fault of a machine or a disk that nothing else has noticed.

import type { Clock, Timer } from '@latchkey/base'

/** Behind the entry `index`: a hash for each key space, by name. */
export interface Stand {
  readonly index: number
  readonly spaces: Readonly<Record<string, string>>
}

export interface StateCheckPorts {
  readonly clock: Clock
  /** How far this member has applied. */
  readonly applied: () => number
  /** Undefined while it cannot be told: the state is being swapped, or the member has stopped. */
  readonly stand: () => Stand | undefined
  readonly tell: (stand: Stand) => void
  /** That member holds something else in these key spaces, behind the same entry. */
  readonly differs: (from: string, index: number, spaces: readonly string[]) => void
}

/** Unchanged for that long is at rest. */
const REST_MS = 2_000

export class StateCheck {
  readonly #ports: StateCheckPorts
  /** The last word of each other member; it may have come to rest earlier than this one. */
  readonly #heard = new Map<string, Stand>()
  #seen = 0
  #own: Stand | undefined
  #timer: Timer

  constructor(ports: StateCheckPorts) {
    this.#ports = ports
    this.#timer = this.#arm()
  }

  #arm(): Timer {
    return this.#ports.clock.after(REST_MS, () => this.#look(), { ref: false })
  }

  #look(): void {
    this.#timer = this.#arm()
    const index = this.#ports.applied()
    const resting = index === this.#seen
    this.#seen = index
    if (!resting || index === this.#own?.index) return
    const stand = this.#ports.stand()
    if (stand === undefined) return
    this.#own = stand
    this.#ports.tell(stand)
    for (const [from, stand] of this.#heard) this.#compare(from, stand)
  }

  hear(from: string, stand: Stand): void {
    this.#heard.set(from, stand)
    this.#compare(from, stand)
  }

  #compare(from: string, { index, spaces }: Stand): void {
    if (this.#own?.index !== index) return
    this.#heard.delete(from)
    const own = this.#own.spaces
    const names = [...new Set([...Object.keys(own), ...Object.keys(spaces)])].sort()
    const different = names.filter((name) => own[name] !== spaces[name])
    if (different.length > 0) this.#ports.differs(from, index, different)
  }

  close(): void {
    this.#timer.cancel()
  }
}
