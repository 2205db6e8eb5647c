// Driver: members compare what they hold: behind the same entry each tells the others the hashes of its key spaces. They do so at
// marks of cluster time, however busy they are, and at rest, once for each such place. A difference is a fault of a machine or a
// disk that nothing else has noticed; which row is the first to differ is found by state-search.ts.

import type { Clock, Timer } from '@latchkey/base'
import type { KvStore, StateHash } from '@latchkey/kv'

/** Behind the entry `index`: a hash for each key space, by name. */
export interface StateHashes {
  readonly index: number
  readonly spaces: Readonly<Record<string, string>>
}

export interface StateCheckPorts {
  readonly clock: Clock
  /** How far this member has applied. */
  readonly applied: () => number
  /** Undefined while it cannot be told: the state is being swapped, or the member has stopped. */
  readonly stateHashes: () => StateHashes | undefined
  readonly tell: (stateHashes: StateHashes) => void
  /** That member holds something else in these key spaces, behind the same entry. Resolves with true when it is known where. */
  readonly differs: (from: string, index: number, spaces: readonly string[]) => Promise<boolean>
  /** What is held behind that entry is kept for a comparison, as soon as this resolves. */
  readonly hold: (index: number) => Promise<unknown>
}

/** Unchanged for that long is at rest. */
const REST_MS = 2_000
/** Stands that are remembered, own ones and of each other member: who lags a little is compared too. */
const STANDS = 4

export class StateCheck {
  readonly #ports: StateCheckPorts
  readonly #own: StateHashes[] = []
  /** The last words of each other member; it may have been there earlier than this one. */
  readonly #heard = new Map<string, StateHashes[]>()
  /** Who differed, and whether it is known where. */
  readonly #different = new Map<string, { known: boolean }>()
  #seen = 0
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
    if (!resting || index === this.#own.at(-1)?.index) return
    const stateHashes = this.#ports.stateHashes()
    if (stateHashes !== undefined) this.#stateHashes(stateHashes)
  }

  /** At a mark, while the next entry waits for what this returns. */
  stood(stateHashes: StateHashes): Promise<unknown> | undefined {
    this.#stateHashes(stateHashes)
    const wanted = [...this.#different.values()].some(({ known }) => !known)
    return wanted ? this.#ports.hold(stateHashes.index) : undefined
  }

  #stateHashes(stateHashes: StateHashes): void {
    remember(this.#own, stateHashes)
    this.#ports.tell(stateHashes)
    for (const [from, stands] of this.#heard) {
      for (const heard of [...stands]) this.#compare(from, heard)
    }
  }

  hear(from: string, stateHashes: StateHashes): void {
    const stands = this.#heard.get(from) ?? []
    this.#heard.set(from, stands)
    remember(stands, stateHashes)
    this.#compare(from, stateHashes)
  }

  #compare(from: string, heard: StateHashes): void {
    const own = this.#own.find(({ index }) => index === heard.index)?.spaces
    if (own === undefined) return
    const stands = this.#heard.get(from) ?? []
    stands.splice(stands.indexOf(heard), 1)
    const names = [...new Set([...Object.keys(own), ...Object.keys(heard.spaces)])].sort()
    const different = names.filter((name) => own[name] !== heard.spaces[name])
    if (different.length > 0) this.#differs(from, heard.index, different)
    else this.#different.delete(from)
  }

  #differs(from: string, index: number, spaces: readonly string[]): void {
    const entry = this.#different.get(from) ?? { known: false }
    this.#different.set(from, entry)
    void this.#ports.differs(from, index, spaces).then((known) => {
      entry.known ||= known
    })
  }

  close(): void {
    this.#timer.cancel()
  }
}

function remember(stands: StateHashes[], stateHashes: StateHashes): void {
  stands.push(stateHashes)
  if (stands.length > STANDS) stands.shift()
}

export const standOf = ({ position, spaces }: StateHash): StateHashes => ({ index: position.index, spaces })

export function currentStand(kv: KvStore): StateHashes | undefined {
  try {
    return standOf(kv.stateHash())
  } catch {
    // It is being swapped, or has stopped: whoever must know of that has been told.
    return undefined
  }
}
